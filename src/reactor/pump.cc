#include "reactor/pump.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

namespace ebb::reactor {

namespace {

constexpr int pipe_bytes = 1 << 20;  // what an unprivileged process may ask for by default
constexpr std::uint64_t bytes_per_round = std::uint64_t{2} << 20;  // then the other sockets get their turn

ssize_t move(int from, int to, std::uint64_t bytes) {
  return ::splice(from, nullptr, to, nullptr, bytes, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
}

}  // namespace

base::Result<Pipe> PipePool::take() {
  if (!free_.empty()) {
    Pipe pipe = std::move(free_.back());
    free_.pop_back();
    return pipe;
  }
  int ends[2];
  if (::pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0) return base::fail(base::Cause::resource_limit, "pipe2", errno);
  Pipe pipe{Descriptor(ends[0]), Descriptor(ends[1])};
  ::fcntl(ends[1], F_SETPIPE_SZ, pipe_bytes);  // refused beyond pipe-user-pages-soft: then it stays at 64 KiB
  pipe.capacity = static_cast<std::uint32_t>(std::max(::fcntl(ends[1], F_GETPIPE_SZ), 4096));
  return pipe;
}

void PipePool::give_back(Pipe pipe) {
  if (free_.size() < kept_most) free_.push_back(std::move(pipe));
}

void PipePool::list(Holdings& out) const {
  for (const Pipe& pipe : free_) reactor::list(pipe, out);
}

PumpStop run_pump(Pump& pump, int source, int sink, int& sys) {
  const std::uint64_t moved_most = pump.moved + bytes_per_round;
  while (pump.moved < moved_most) {
    if (pump.in_pipe == 0) {
      if (pump.to_read == 0) return PumpStop::finished;
      const ssize_t got =
          move(source, pump.pipe.write.get(), std::min<std::uint64_t>(pump.to_read, pump.pipe.capacity));
      if (got == 0) return PumpStop::source_ended;
      if (got < 0 && errno == EAGAIN) return PumpStop::source_empty;
      if (got < 0) {
        sys = errno;
        return PumpStop::source_failed;
      }
      pump.in_pipe = static_cast<std::uint64_t>(got);
      pump.filled = true;
      pump.to_read -= pump.in_pipe;
    }
    const ssize_t put = move(pump.pipe.read.get(), sink, pump.in_pipe);
    if (put < 0 && errno == EAGAIN) return PumpStop::sink_full;
    if (put <= 0) {
      sys = put == 0 ? EPIPE : errno;
      return PumpStop::sink_failed;
    }
    pump.in_pipe -= static_cast<std::uint64_t>(put);
    pump.moved += static_cast<std::uint64_t>(put);
  }
  return pump.in_pipe == 0 && pump.to_read == 0 ? PumpStop::finished : PumpStop::yielded;
}

}  // namespace ebb::reactor
