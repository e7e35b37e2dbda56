// The destination of log lines: a file or standard output. Only the log's writer thread uses it, except descriptor(). A
// failed write loses its bytes; the next write starts on a new line. If the reader stalls, the write waits as long as
// `patience` allows.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace ebb::observe {

class LogFile {
 public:
  LogFile() = default;
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  ~LogFile();

  // "" or "-": standard output. Never waits. Unless `done`, the previous file stays open and `error` is set.
  enum class Opening : std::uint8_t { done, failed, lacks_reader };  // lacks_reader: a named pipe without a reader
  Opening open(const std::string& path, std::string& error);
  bool is_open() const { return fd_ >= 0; }

  // Called before each wait of poll_ms for the reader of a pipe; false: give up these bytes.
  using Patience = std::function<bool()>;
  static constexpr int poll_ms = 100;

  // Whole lines only. Returns how many bytes were written; the rest is lost.
  std::size_t write(std::string_view lines, const Patience& patience);

  int descriptor() const { return fd_.load(std::memory_order_relaxed); }  // any thread

 private:
  std::size_t write_some(std::string_view bytes, const Patience& patience);  // 0: failed
  bool wait_until_writable(const Patience& patience);
  void close();

  std::atomic<int> fd_ = -1;
  bool may_block_ = false;  // a pipe, socket or terminal
  bool torn_ = false;       // the last write ended inside a line
};

}  // namespace ebb::observe
