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

  // "" or "-": standard output. Never waits. Unless it is `done` the file that was open stays open, and `error` is set.
  enum class Opening : std::uint8_t { done, failed, lacks_reader };  // lacks_reader: a named pipe that nobody reads yet
  Opening open(const std::string& path, std::string& error);
  bool is_open() const { return fd_ >= 0; }

  // Asked before each wait of poll_ms for the reader of a pipe; false: give up these bytes.
  using Patience = std::function<bool()>;
  static constexpr int poll_ms = 100;

  // Whole lines only. How many bytes were taken; fewer than given: the rest is lost.
  std::size_t write(std::string_view lines, const Patience& patience);

  int descriptor() const { return fd_.load(std::memory_order_relaxed); }  // any thread

 private:
  std::size_t write_some(std::string_view bytes, const Patience& patience);  // 0: failed
  bool wait_until_writable(const Patience& patience);
  void close();

  std::atomic<int> fd_ = -1;
  bool may_block_ = false;  // a pipe, socket or terminal
  bool torn_ = false;       // the last write was cut short inside a line
};

}  // namespace ebb::observe
