#include "sim/sim_reactor.h"

#include <algorithm>
#include <utility>

#include "reactor/sockets.h"

namespace ebb::sim {

using reactor::CloseMode;
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

Kernel Kernel::draw(base::Rng& rng) {
  Kernel kernel;
  kernel.asynchronous = rng.chance(500);
  kernel.partial = rng.chance(500) ? static_cast<std::uint32_t>(rng.between(50, 500)) : 0;
  kernel.round_delay_max = microseconds{rng.between(1, 500)};
  if (rng.chance(150)) kernel.round_delay_max = milliseconds{rng.between(1, 10)};  // a busy worker
  if (rng.chance(500)) kernel.timer_lag_max = milliseconds{rng.between(1, 5)};
  if (rng.chance(400)) kernel.read_max = static_cast<std::uint32_t>(rng.between(64, 2000));
  return kernel;
}

SimReactor::SimReactor(World& world, Network& network, const base::Address& host, const Kernel& kernel,
                       const reactor::SocketLimits& limits, std::uint32_t number)
    : world_(world),
      network_(network),
      host_(host),
      kernel_(kernel),
      limits_(limits),
      number_(number),
      rng_(world.rng().next()),
      timers_(world.now()) {}

// The kernel closes what a process leaves behind.
SimReactor::~SimReactor() {
  *alive_ = false;
  sockets_.for_each([this](base::Handle, Socket& socket) { network_.reset(socket.end); });
  lingering_.for_each([this](base::Handle, Lingering& lingering) { network_.reset(lingering.end); });
  listeners_.for_each([this](base::Handle, Listener& listener) { network_.close_port(listener.port); });
}

void SimReactor::run(reactor::Handler& handler) {
  handler_ = &handler;
  schedule_round();
}

void SimReactor::post(std::move_only_function<void()> task) {
  tasks_.push_back(std::move(task));
  schedule_round();
}

base::TimerWheel& SimReactor::timers() {
  if (!in_round_) schedule_round();  // whoever arms from outside a round must be heard
  return timers_;
}

// ---- calls of the handler --------------------------------------------------------------------------------------

void SimReactor::contract(const std::string& broken) { world_.fail("contract: " + broken); }

SimReactor::Socket* SimReactor::expect_open(SocketId id, const char* call) const {
  Socket* socket = sockets_.find(id);
  if (socket == nullptr) const_cast<SimReactor*>(this)->contract(std::string(call) + " on a closed or unknown socket");
  return socket;
}

base::Result<ListenerId> SimReactor::listen(const base::Address& address, Owner owner) {
  const ListenerId id(listeners_.emplace());
  Listener& listener = *listeners_.find(id);
  listener.self = id;
  listener.address = address;
  listener.owner = owner;
  listener.port = network_.listen(address, *this, id);
  listener_order_.push_back(id);
  return id;
}

base::Address SimReactor::local_address(ListenerId id) const {
  const Listener* listener = listeners_.find(id);
  return listener == nullptr ? base::Address() : listener->address;
}

void SimReactor::close_listener(ListenerId id) {
  Listener* listener = listeners_.find(id);
  if (listener == nullptr || listener->closing) {
    contract("close_listener on a closed or unknown listener");
    return;
  }
  listener->closing = true;  // what waits in the accept queue is reported first, in the next round
  schedule_round();
}

base::Result<SocketId> SimReactor::connect(const base::Address& address, Owner owner) {
  if (sockets_.size() >= kernel_.fd_limit)
    return base::fail(base::Cause::resource_limit, "socket", EMFILE, base::Retry::elsewhere);
  const SocketId id(sockets_.emplace());
  Socket& socket = *find(id);
  socket.self = id;
  socket.owner = owner;
  socket.adopted = true;
  socket.end = network_.connect(host_, address, *this, id, limits_);
  opened_ += 1;
  return id;
}

void SimReactor::adopt(SocketId id, Owner owner) {
  if (Socket* socket = expect_open(id, "adopt")) {
    socket->owner = owner;
    socket->adopted = true;
  }
}

void SimReactor::receive(SocketId id, Receive mode) {
  Socket* socket = expect_open(id, "receive");
  if (socket == nullptr) return;
  if (socket->pumping && mode != Receive::paused) contract("receive on a socket that is being pumped");
  // A multishot receive is cancelled by a request to the kernel: bytes may come before that takes effect.
  if (mode == Receive::paused && socket->mode != Receive::paused && kernel_.asynchronous)
    socket->late_receive = rng_.chance(500);
  socket->mode = mode;
  make_ready(*socket);
}

void SimReactor::send(SocketId id, base::Chain&& bytes) {
  Socket* socket = expect_open(id, "send");
  if (socket == nullptr) return;
  if (!socket->adopted) contract("send before adopt");
  if (socket->finish_wanted) contract("send after finish");
  if (socket->pump_from) contract("send while bytes are pumped into the socket");
  if (bytes.empty()) return;
  counters_.sends += 1;
  socket->output.push(std::move(bytes));
  if (!kernel_.asynchronous) write_some(*socket);
  if (!socket->output.empty()) {
    socket->owes_drained = true;
    if (kernel_.asynchronous) complete_later(*socket);
  }
}

std::size_t SimReactor::unsent(SocketId id) const {
  const Socket* socket = expect_open(id, "unsent");
  if (socket == nullptr) return 0;
  const Socket* source = sockets_.find(socket->pump_from);
  return socket->output.bytes() + (source == nullptr ? 0 : source->pipe.size());
}

void SimReactor::finish(SocketId id) {
  Socket* socket = expect_open(id, "finish");
  if (socket == nullptr) return;
  if (socket->finish_wanted) return;
  if (socket->pump_from) contract("finish while bytes are pumped into the socket");
  socket->finish_wanted = true;
  if (socket->output.empty() && socket->connected) network_.finish(socket->end);
}

void SimReactor::close(SocketId id, CloseMode mode) {
  Socket* socket = expect_open(id, "close");
  if (socket == nullptr) return;
  if (socket->pumping) end_pump(*socket);
  const EndId end = socket->end;
  if (mode == CloseMode::flush && socket->connected && network_.open(end)) {
    const bool draining = !socket->held.empty() || network_.readable(end) > 0;
    if (draining || !socket->output.empty()) return close_later(*socket, draining);
  }
  // In the kernel's hands already, a send may or may not still go out.
  if (mode == CloseMode::drop && socket->send_in_flight && rng_.chance(500)) write_some(*socket);
  forget(*socket);
  if (mode == CloseMode::reset) {
    network_.reset(end);
  } else {
    network_.close(end);
  }
}

void SimReactor::pump(SocketId from_id, SocketId to_id, std::uint64_t bytes) {
  Socket* from = expect_open(from_id, "pump from");
  Socket* to = expect_open(to_id, "pump to");
  if (from == nullptr || to == nullptr) return;
  if (from->mode != Receive::paused) contract("pump from a socket that is not paused");
  if (!to->output.empty()) contract("pump to a socket with unsent output");
  if (to->finish_wanted) contract("pump to a finished socket");
  if (from->pumping || to->pump_from) contract("pump while another is going on");
  if (bytes == 0) contract("pump of nothing");
  from->pumping = true;
  from->pump_to = to_id;
  from->pump_left = bytes;
  to->pump_from = from_id;
  make_ready(*from);
}

bool SimReactor::peer_gone(SocketId id) {
  const Socket* socket = expect_open(id, "peer_gone");
  if (socket == nullptr) return true;
  return network_.error(socket->end) != 0 || (network_.finished(socket->end) && socket->held.empty());
}

void SimReactor::set_fd_limit(std::uint32_t limit) {
  kernel_.fd_limit = limit;
  schedule_round();
}

std::vector<EndId> SimReactor::ends() {
  std::vector<EndId> all;
  sockets_.for_each([&](base::Handle, Socket& socket) { all.push_back(socket.end); });
  return all;
}

void SimReactor::forget(Socket& socket) {
  closed_ += 1;
  if (Socket* source = find(socket.pump_from)) end_pump(*source);
  sockets_.erase(socket.self);
}

// ---- output ----------------------------------------------------------------------------------------------------

// Hands the kernel as much as it takes.
void SimReactor::write_some(Socket& socket) {
  if (!socket.connected) return;
  while (!socket.output.empty()) {
    const base::Slice& front = socket.output.front();
    std::size_t count = std::min<std::size_t>(front.size(), network_.writable(socket.end));
    if (count == 0) break;
    const bool partial = rng_.chance(kernel_.partial);
    if (partial) count = rng_.between(1, count);
    network_.send(socket.end, front.view().substr(0, count));
    socket.output.drop_front(count);
    if (partial) break;
  }
  if (socket.output.empty() && socket.finish_wanted) network_.finish(socket.end);
  // The rest is offered again when the socket has room, or in the next round if it has.
  if (!socket.output.empty() && network_.writable(socket.end) > 0) make_ready(socket);
}

void SimReactor::complete_later(Socket& socket) {
  if (socket.send_in_flight || !socket.connected) return;
  socket.send_in_flight = true;
  const SocketId id = socket.self;
  world_.after(microseconds{rng_.between(1, 200)}, [this, id, alive = alive_] {
    if (!*alive) return;
    Socket* found = find(id);
    if (found == nullptr) return;
    found->send_in_flight = false;
    write_some(*found);
    make_ready(*found);
  });
}

void SimReactor::close_later(Socket& socket, bool draining) {
  const base::Handle tag = lingering_.emplace();
  Lingering& left = *lingering_.find(tag);
  left.end = socket.end;
  left.draining = draining;
  for (std::uint32_t i = 0; i < socket.output.slices(); ++i) left.bytes.append(socket.output[i].view());
  network_.set_tag(left.end, {tag.slot | lingering_bit, tag.generation});
  world_.after(limits_.user_timeout, [this, tag, alive = alive_] {
    const Lingering* late = *alive ? lingering_.find(tag) : nullptr;
    if (late == nullptr) return;
    const EndId end = late->end;
    lingering_.erase(tag);
    network_.close(end);
  });
  forget(socket);
  linger(tag);
}

void SimReactor::linger(base::Handle tag) {
  Lingering* left = lingering_.find(tag);
  const EndId end = left->end;
  if (network_.open(end)) {
    if (!network_.read(end, SIZE_MAX).empty()) left->draining = true;
    left->bytes.erase(0, network_.send(end, left->bytes));
    if (!left->bytes.empty()) return;
    if (!std::exchange(left->finished, true)) network_.finish(end);
    if (left->draining && !network_.finished(end)) return;
  }
  lingering_.erase(tag);
  network_.close(end);
}

// ---- rounds ----------------------------------------------------------------------------------------------------

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
  timers_.advance(round_now_, [this](Owner owner) {
    world_.note("timer", number_, owner.kind);
    handler_->on_timer(owner);
  });
  handler_->on_round_end();
  check_adopted();
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
  }
  const std::size_t moved = network_.send(to->end, from.pipe);
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
  if (unread || socket.mode == Receive::paused || socket.finish_reported || !network_.finished(socket.end)) return;
  socket.finish_reported = true;
  handler_->on_peer_finished(socket.owner);
}

}  // namespace ebb::sim
