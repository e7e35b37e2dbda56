// Splicing on the epoll reactor: driven by the edges of both sockets, reported once a round; see pump.h.
#include <cerrno>

#include "reactor/epoll.h"

namespace ebb::reactor {

void EpollReactor::pump(SocketId from, SocketId to, std::uint64_t bytes) {
  Socket* source = find(from);
  Socket* sink = find(to);
  if (source == nullptr || sink == nullptr || source->phase == Phase::failed) return;
  EBB_ASSERT(source->pump == nullptr && !sink->pump_source);
  base::Result<Pipe> pipe = pipes_.take();
  if (!pipe) {
    source->failure = pipe.error();
    make_ready(*source);
    return;
  }
  source->pump = std::make_unique<Pump>(std::move(*pipe), bytes);
  source->pump_sink = to;
  sink->pump_source = from;
  make_ready(*source);
}

void EpollReactor::serve_pump(SocketId id) {
  Socket& source = *sockets_.find(id);
  Socket* sink = find(source.pump_sink);
  EBB_ASSERT(sink != nullptr);  // its close ends the pump
  if (!sink->usable()) return;  // its owner is told and closes it
  if (source.undelivered != nullptr && source.pump->to_read > 0) {
    source.pump_held_into(*sink, now());
    if (sink->output_bytes.bytes() > 0) write_out(*sink);
  }
  if (!sink->output_bytes.empty() || !sink->writable) return;  // its edge brings us back
  // An idle source is only of interest while bytes wait in the pipe, or when nothing is left to be read.
  Pump& pump = *source.pump;
  if (source.input == Input::idle && pump.in_pipe == 0 && pump.to_read > 0 && pump.moved == 0) return;
  int sys = 0;
  const std::uint64_t before = pump.moved;
  const PumpStop stop = run_pump(pump, source.fd(), sink->fd(), sys);
  counters_.spliced_bytes += pump.moved - before;
  report_pump(id, stop, sys);
}

void EpollReactor::report_pump(SocketId id, PumpStop stop, int sys) {
  Socket& source = *sockets_.find(id);
  Socket& sink = *sockets_.find(source.pump_sink);
  const std::uint64_t moved = std::exchange(source.pump->moved, 0);
  const bool stuck = std::exchange(source.pump->filled, false) && stop == PumpStop::sink_full;
  switch (stop) {
    case PumpStop::source_empty:
      if (source.input == Input::readable) source.input = Input::idle;
      break;
    case PumpStop::sink_full: sink.writable = false; break;
    case PumpStop::sink_failed: output_failed(sink, sys); break;
    case PumpStop::yielded: make_ready(source); break;
    case PumpStop::finished:
    case PumpStop::source_ended:
    case PumpStop::source_failed: end_pump(source); break;
  }
  if (moved > 0 || stuck) sink.output_moved = now();
  const bool done = stop == PumpStop::finished;
  if (moved > 0 || done || stuck) handler_->on_pumped(source.owner, moved, done);
  if (stop != PumpStop::source_ended && stop != PumpStop::source_failed) return;
  if (Socket* still = find(id)) input_ended(*still, sys);
}

void EpollReactor::end_pump(Socket& source) {
  if (Socket* sink = sockets_.find(source.pump_sink)) sink->pump_source = {};
  source.pump_sink = {};
  if (source.pump->in_pipe == 0) pipes_.give_back(std::move(source.pump->pipe));
  source.pump.reset();
}

}  // namespace ebb::reactor
