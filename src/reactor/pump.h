// Moves bytes from socket to socket through a pipe, without copying them to user space (splice(2)). The pump fills the
// pipe only when it is empty. EAGAIN on the way in then means that the source has no bytes, and the pipe's bytes reach
// the sink before the pump sees an end or error of the source.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "reactor/descriptor.h"
#include "reactor/holdings.h"

namespace ebb::reactor {

struct Pipe {
  Descriptor read;
  Descriptor write;
  std::uint32_t capacity = 0;
};

inline void list(const Pipe& pipe, Holdings& out) {
  out.push_back({.descriptor = pipe.read.get()});
  out.push_back({.descriptor = pipe.write.get()});
}

// Making a pipe costs three system calls and up to a megabyte of address space in the kernel: keep a few.
class PipePool {
 public:
  base::Result<Pipe> take();
  void give_back(Pipe pipe);  // must be empty
  void list(Holdings& out) const;

 private:
  static constexpr std::size_t kept_most = 32;
  std::vector<Pipe> free_;
};

struct Pump {
  Pipe pipe;
  std::uint64_t to_read = 0;  // not yet taken from the source
  std::uint64_t in_pipe = 0;
  std::uint64_t moved = 0;  // reached the sink, not yet reported
  bool filled = false;      // bytes have come into the empty pipe since the last report
};

enum class PumpStop : std::uint8_t {
  finished,
  yielded,  // enough for this round, more can be done at once
  source_empty,
  source_ended,
  source_failed,
  sink_full,
  sink_failed,
};

// Both sockets must be non-blocking: SPLICE_F_NONBLOCK speaks only of the pipe. `sys` is set on failures.
PumpStop run_pump(Pump& pump, int source, int sink, int& sys);

}  // namespace ebb::reactor
