// What happens in a round of the simulated reactor: events are gathered, then told in a seeded order; see
// sim_reactor.h.
#include <algorithm>
#include <utility>

#include "reactor/sockets.h"
#include "sim/sim_reactor.h"

namespace ebb::sim {

using reactor::ListenerId;
using reactor::Owner;
using reactor::Receive;
using reactor::SocketId;

namespace {

constexpr int slices_per_round = 4;
constexpr std::uint32_t watchful_read_max = 4096;
constexpr std::size_t pipe_capacity = 65536;

void shuffle(std::vector<SocketId>& sockets, base::Rng& rng) {
  for (std::size_t i = sockets.size(); i > 1; --i) std::swap(sockets[i - 1], sockets[rng.below(i)]);
}

}  // namespace

void SimReactor::on_end_changed(base::Handle tag) {
  if ((tag.slot & lingering_bit) != 0) {
    const base::Handle plain{tag.slot & ~lingering_bit, tag.generation};
    // Not at once: this call comes from inside the network.
    world_.after({}, [this, plain, alive = alive_] {
      if (*alive && lingering_.find(plain) != nullptr) linger(plain);
    });
    return;
  }
  if (Socket* socket = sockets_.find(tag)) make_ready(*socket);
}

void SimReactor::on_port_changed(base::Handle) { schedule_round(); }

void SimReactor::make_ready(Socket& socket) {
  if (!socket.queued) {
    socket.queued = true;
    ready_.push_back(socket.self);
  }
  schedule_round();
}

void SimReactor::schedule_round() {
  if (round_scheduled_ || handler_ == nullptr) return;
  round_scheduled_ = true;
  const Duration delay =
      Duration{static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(kernel_.round_delay_max.count()) + 1))};
  world_.after(delay, [this, alive = alive_] {
    if (*alive) round();
  });
}

void SimReactor::schedule_timer() {
  const Instant wake = timers_.next_wake();
  if (wake == Instant::max() || wake >= timer_scheduled_) return;
  timer_scheduled_ = wake;
  Duration lag{};
  if (kernel_.timer_lag_max > Duration{})
    lag = Duration{static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(kernel_.timer_lag_max.count())))};
  world_.at(wake + lag, [this, wake, alive = alive_] {
    if (!*alive || timer_scheduled_ != wake) return;
    timer_scheduled_ = Instant::max();
    schedule_round();
  });
}

void SimReactor::round() {
  round_scheduled_ = false;
  if (stopped_) return;
  in_round_ = true;
  round_now_ = world_.now();
  counters_.loops += 1;
  run_tasks();
  accept_waiting();
  std::vector<SocketId> ready = std::exchange(ready_, {});
  shuffle(ready, rng_);
  for (const SocketId id : ready) {
    if (Socket* socket = find(id)) {
      socket->queued = false;
      serve(id);
    }
  }
  serve_datagrams();
  timers_.advance(round_now_, [this](Owner owner) {
    world_.note("timer", number_, owner.kind);
    handler_->on_timer(owner);
  });
  handler_->on_round_end();
  check_adopted();
  check_last_sent();
  in_round_ = false;
  schedule_timer();
}

void SimReactor::run_tasks() {
  std::deque<std::move_only_function<void()>> tasks = std::exchange(tasks_, {});
  for (auto& task : tasks) task();
}

void SimReactor::accept_waiting() {
  const std::vector<ListenerId> order = listener_order_;
  for (const ListenerId id : order) {
    Listener* listener = listeners_.find(id);
    if (listener != nullptr && !listener->started && !listener->closing) continue;
    while (listener != nullptr && network_.waiting(listener->port) && sockets_.size() < kernel_.fd_limit) {
      const SocketId socket_id(sockets_.emplace());
      Socket& socket = *find(socket_id);
      socket.self = socket_id;
      socket.connected = true;
      socket.owner = listener->owner;
      socket.accepted = true;
      socket.end = network_.accept(listener->port, *this, socket_id, limits_);
      opened_ += 1;
      unadopted_.push_back(socket_id);
      const base::Address peer = network_.remote(socket.end);
      handler_->on_accepted(listener->owner, socket_id, peer);
      listener = listeners_.find(id);
    }
    if (listener != nullptr && listener->closing && !network_.waiting(listener->port)) {
      const Owner owner = listener->owner;
      network_.close_port(listener->port);
      std::erase(listener_order_, id);
      listeners_.erase(id);
      handler_->on_listener_closed(owner);
    }
  }
}

void SimReactor::check_adopted() {
  for (const SocketId id : std::exchange(unadopted_, {})) {
    const Socket* socket = find(id);
    if (socket != nullptr && !socket->adopted) contract("an accepted socket was neither adopted nor closed");
  }
}

void SimReactor::check_last_sent() {
  for (const SocketId id : std::exchange(last_sent_, {})) {
    const Socket* socket = find(id);
    if (socket != nullptr && !socket->finish_wanted) contract("send_last without finish or close");
  }
}

// What has happened to one socket, in the order in which it must be told.
void SimReactor::serve(SocketId id) {
  if (serve_connect(id) == Ending::gone || serve_output(id) == Ending::gone) return;
  if (serve_input(id) == Ending::gone || serve_pump(id) == Ending::gone) return;
  serve_end(id);
}

SimReactor::Ending SimReactor::serve_connect(SocketId id) {
  Socket& socket = *find(id);
  if (socket.connected || !network_.open(socket.end)) return Ending::alive;
  socket.connected = true;
  if (socket.output.empty() && socket.finish_wanted) network_.finish(socket.end);
  handler_->on_connected(socket.owner);
  return find(id) == nullptr ? Ending::gone : Ending::alive;
}

SimReactor::Ending SimReactor::serve_output(SocketId id) {
  Socket& socket = *find(id);
  if (Socket* source = find(socket.pump_from)) make_ready(*source);  // there may be room again
  if (!socket.output.empty()) {
    if (kernel_.asynchronous) {
      if (network_.writable(socket.end) > 0) complete_later(socket);
    } else {
      write_some(socket);
    }
  }
  if (!socket.output.empty() || !socket.owes_drained || network_.error(socket.end) != 0) return Ending::alive;
  socket.owes_drained = false;
  handler_->on_drained(socket.owner);
  return find(id) == nullptr ? Ending::gone : Ending::alive;
}

SimReactor::Ending SimReactor::serve_input(SocketId id) {
  for (int i = 0; i < slices_per_round; ++i) {
    Socket& socket = *find(id);
    if (!socket.adopted || !socket.connected) return Ending::alive;
    const bool paused = socket.mode == Receive::paused;
    const std::uint32_t most =
        socket.mode == Receive::bulk ? kernel_.read_max : std::min(kernel_.read_max, watchful_read_max);
    if (paused && socket.late_receive && network_.readable(socket.end) > 0) {
      socket.late_receive = false;
      socket.held += network_.read(socket.end, most);
    }
    if (paused || (socket.held.empty() && network_.readable(socket.end) == 0)) return Ending::alive;
    if (blocks_.over_budget()) {  // stop for a while: memory comes back when others have been served
      make_ready(socket);
      return Ending::alive;
    }
    const std::string bytes =
        socket.held.empty() ? network_.read(socket.end, rng_.between(1, most)) : std::exchange(socket.held, {});
    counters_.receives += 1;
    handler_->on_received(socket.owner, blocks_.copy(bytes));
    if (find(id) == nullptr) return Ending::gone;
  }
  make_ready(*find(id));
  return Ending::alive;
}

// splice(2) by hand: bytes leave `from` for a pipe, and the pipe for `to`.
SimReactor::Ending SimReactor::serve_pump(SocketId id) {
  Socket& from = *find(id);
  if (!from.pumping) return Ending::alive;
  Socket* to = find(from.pump_to);
  EBB_ASSERT(to != nullptr);
  const bool source_done = from.held.empty() && network_.readable(from.end) == 0 &&
                           (network_.finished(from.end) || network_.error(from.end) != 0);
  if (from.pipe.empty() && !source_done) {
    const std::size_t most = std::min<std::uint64_t>({from.pump_left, pipe_capacity, rng_.between(1, 65536)});
    if (!from.held.empty()) {
      from.pipe = from.held.substr(0, most);
      from.held.erase(0, from.pipe.size());
    } else {
      from.pipe = network_.read(from.end, most);
    }
    if (!from.pipe.empty()) to->output_moved = now();
  }
  const std::size_t moved = network_.send(to->end, from.pipe);
  if (moved > 0) to->output_moved = now();
  from.pipe.erase(0, moved);
  from.pump_left -= moved;
  counters_.spliced_bytes += moved;
  const bool done = from.pump_left == 0;
  const bool ended = source_done && from.pipe.empty();
  if (done || ended) end_pump(from);
  if (!done && !ended && moved > 0) make_ready(from);
  if (moved > 0) handler_->on_pumped(from.owner, moved, done);
  Socket* still = find(id);
  if (still == nullptr) return Ending::gone;
  if (done || !ended || network_.error(still->end) != 0) return Ending::alive;
  still->finish_reported = true;  // the pump met the FIN: told although the socket is paused
  handler_->on_peer_finished(still->owner);
  return find(id) == nullptr ? Ending::gone : Ending::alive;
}

void SimReactor::end_pump(Socket& from) {
  from.pumping = false;
  from.pipe.clear();
  if (Socket* to = find(from.pump_to)) to->pump_from = {};
}

void SimReactor::serve_end(SocketId id) {
  Socket& socket = *find(id);
  if (!socket.adopted) return;
  const int error = network_.error(socket.end);
  const bool unread = !socket.held.empty() || network_.readable(socket.end) > 0;
  if (error != 0) {
    if (socket.failure_reported) return;
    if (unread && socket.mode != Receive::paused) return;  // first what came before it; serve_input() asked for more
    socket.failure_reported = true;
    if (socket.pumping) end_pump(socket);
    if (Socket* source = find(socket.pump_from)) end_pump(*source);
    using reactor::Origin;
    const Origin origin = socket.accepted    ? Origin::accepted
                          : socket.connected ? Origin::connected
                                             : Origin::connecting;
    world_.note("tell of failure", socket.end.slot, static_cast<std::uint64_t>(error));
    handler_->on_failed(socket.owner, reactor::error_of(error, origin, "sim"));
    return;
  }
  const bool paused = socket.mode == Receive::paused || socket.pumping;
  if (socket.accepted && paused && !socket.end_told && network_.finish_seen(socket.end)) {
    socket.end_told = true;
    handler_->on_end_in_sight(socket.owner);
    return;
  }
  if (unread || socket.mode == Receive::paused || socket.finish_reported || !network_.finished(socket.end)) return;
  socket.finish_reported = true;
  handler_->on_peer_finished(socket.owner);
}

}  // namespace ebb::sim
