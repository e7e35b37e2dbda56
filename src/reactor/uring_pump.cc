// Splicing on the io_uring reactor: the ring tells when the sockets are ready, the calls are made directly, because
// IORING_OP_SPLICE always goes through a kernel thread; see pump.h.
#include <poll.h>

#include <cerrno>
#include <utility>

#include "reactor/uring.h"

namespace ebb::reactor {

namespace {

// splice(2) heeds the sockets' own flag, which must not be set while ring operations are submitted.
class NonBlocking {
 public:
  NonBlocking(int first, int second) : first_(first), second_(second) {
    set_blocking(first_, Blocking::no);
    set_blocking(second_, Blocking::no);
  }
  NonBlocking(const NonBlocking&) = delete;
  NonBlocking& operator=(const NonBlocking&) = delete;
  ~NonBlocking() {
    set_blocking(first_, Blocking::yes);
    set_blocking(second_, Blocking::yes);
  }

 private:
  int first_;
  int second_;
};

}  // namespace

void UringReactor::pump(SocketId from, SocketId to, std::uint64_t bytes) {
  Socket* source = find(from);
  Socket* sink = find(to);
  if (source == nullptr || sink == nullptr || !source->usable()) return;
  EBB_ASSERT(source->pump == nullptr && !sink->pump_source);
  base::Result<Pipe> pipe = pipes_.take();
  if (pipe) {
    source->pump = std::make_unique<Pump>(std::move(*pipe), bytes);
    source->pump_sink = to;
    sink->pump_source = from;
  } else {
    source->failure = pipe.error();
  }
  make_ready(*source);
}

void UringReactor::serve_pump(SocketId id) {
  Socket& source = *sockets_.find(id);
  Socket* sink = find(source.pump_sink);
  EBB_ASSERT(sink != nullptr);  // its close ends the pump
  if (!sink->usable()) return;  // its owner is told and closes it
  if (source.undelivered != nullptr && source.pump->to_read > 0) {
    source.pump_held_into(*sink, now());
    unsettle(*sink);
  }
  // The completion of what is still in flight brings us back.
  if (source.receiving != Receiving::no || !sink->output_bytes.empty()) return;
  if (source.source_polled && source.pump->in_pipe == 0 && source.pump->moved == 0) return;
  int sys = 0;
  const std::uint64_t before = source.pump->moved;
  PumpStop stop;
  {
    const NonBlocking both(source.fd(), sink->fd());
    stop = run_pump(*source.pump, source.fd(), sink->fd(), sys);
  }
  counters_.spliced_bytes += source.pump->moved - before;
  report_pump(id, stop, sys);
}

void UringReactor::report_pump(SocketId id, PumpStop stop, int sys) {
  Socket& source = *sockets_.find(id);
  Socket& sink = *sockets_.find(source.pump_sink);
  const std::uint64_t moved = std::exchange(source.pump->moved, 0);
  const bool stuck = std::exchange(source.pump->filled, false) && stop == PumpStop::sink_full;
  switch (stop) {
    case PumpStop::source_empty:
      if (!std::exchange(source.source_polled, true)) poll_once(source_operation, source, POLLIN | POLLRDHUP);
      break;
    case PumpStop::sink_full:
      if (!std::exchange(sink.sink_polled, true)) poll_once(sink_operation, sink, POLLOUT);
      break;
    case PumpStop::sink_failed:
      sink.failure = error_of(sys, sink.origin, "splice");
      make_ready(sink);
      break;
    case PumpStop::yielded: make_ready(source); break;
    case PumpStop::finished: end_pump(source); break;
    case PumpStop::source_ended:
    case PumpStop::source_failed:
      end_pump(source);
      source.input = Input::ended;
      if (sys != 0 && !source.has_failure()) source.failure = error_of(sys, source.origin, "splice");
      break;
  }
  if (moved > 0 || stuck) sink.output_moved = now();
  const bool done = stop == PumpStop::finished;
  if (moved > 0 || done || stuck) handler_->on_pumped(source.owner, moved, done);
  if (stop != PumpStop::source_ended && stop != PumpStop::source_failed) return;
  if (Socket* still = find(id)) report_end(*still);
}

void UringReactor::end_pump(Socket& source) {
  if (Socket* sink = sockets_.find(source.pump_sink)) sink->pump_source = {};
  source.pump_sink = {};
  if (source.pump->in_pipe == 0) pipes_.give_back(std::move(source.pump->pipe));
  source.pump.reset();
  unsettle(source);
}

}  // namespace ebb::reactor
