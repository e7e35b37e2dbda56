// The access log never blocks a worker: each worker formats into its own ring, and one writer thread empties the rings.
// When a ring is full the line is dropped and counted; the log then reports how many lines are missing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/labels.h"
#include "observe/exchange_record.h"

namespace ebb::observe {

enum class LogFormat : std::uint8_t { off, json, common };

// Replaces `out` with one line and its newline. Bounded: long fields are cut, control bytes escaped.
void format_record(const ExchangeRecord& record, LogFormat format, const base::Labels& labels, std::string& out);

class AccessLog {
 public:
  // One per worker; used by that thread only.
  class Ring;

  struct Losses {
    std::uint64_t lines_dropped = 0;  // a ring was full
    std::uint64_t failed_writes = 0;  // short writes (ENOSPC, EPIPE, ...) and failed reopens
    std::uint64_t lines_lost = 0;     // in failed writes
  };

  // `path` "" or "-": standard output. Starts the writer thread. `format` is for the lines that the log itself adds.
  static std::unique_ptr<AccessLog> open(const std::string& path, std::size_t rings, std::string& error,
                                         LogFormat format = LogFormat::json);
  virtual ~AccessLog() = default;  // writes the rings' content; the workers have stopped
  virtual Ring& ring(std::size_t index) = 0;
  virtual void reopen() = 0;          // after logrotate; any thread, also a signal handler; takes effect a little later
  virtual Losses losses() const = 0;  // any thread
  virtual std::vector<int> descriptors() const = 0;  // descriptors that the log holds open; any thread
};

class AccessLog::Ring {
 public:
  virtual ~Ring() = default;
  virtual bool push(std::string_view line) = 0;  // false: dropped
};

}  // namespace ebb::observe
