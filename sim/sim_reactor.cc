#include "sim/sim_reactor.h"

#include <algorithm>
#include <utility>

#include "reactor/linger.h"

namespace ebb::sim {

using reactor::CloseMode;
using reactor::ListenerId;
using reactor::Owner;
using reactor::Receive;
using reactor::SocketId;

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
  datagram_sockets_.for_each([this](base::Handle, DatagramSocket& socket) { datagrams_->close(socket.bound); });
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

base::Result<ListenerId> SimReactor::prepare_listener(const base::Address& address, Owner owner) {
  const ListenerId id(listeners_.emplace());
  Listener& listener = *listeners_.find(id);
  listener.self = id;
  listener.address = address;
  listener.owner = owner;
  listener.port = network_.listen(address, *this, id);
  listener_order_.push_back(id);
  return id;
}

void SimReactor::start_listener(ListenerId id) {
  Listener* listener = listeners_.find(id);
  if (listener == nullptr || listener->closing) {
    contract("start_listener on a closed or unknown listener");
    return;
  }
  listener->started = true;
  schedule_round();
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
  if (sockets_.size() >= kernel_.fd_limit) return base::fail(base::Cause::resource_limit, "socket", EMFILE);
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
  if (socket->output.empty()) socket->output_moved = now();
  socket->output.join(std::move(bytes));
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

std::size_t SimReactor::held(SocketId id) const {
  const Socket* socket = expect_open(id, "held");
  return socket == nullptr ? 0 : socket->output.held();
}

base::Backlog SimReactor::backlog(SocketId id) const {
  const std::size_t bytes = unsent(id);
  const Socket* socket = sockets_.find(id);
  return {bytes, socket == nullptr ? Instant{} : socket->output_moved};
}

void SimReactor::send_last(SocketId id, base::Chain&& bytes) {
  last_sent_.push_back(id);
  send(id, std::move(bytes));
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
    network_.release(end);
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

std::optional<reactor::TcpFacts> SimReactor::tcp_facts(SocketId id) {
  const Socket* socket = expect_open(id, "tcp_facts");
  return socket == nullptr ? std::nullopt : std::optional(network_.facts(socket->end));
}

void SimReactor::ask_peer(SocketId id, bool ask) {
  if (const Socket* socket = expect_open(id, "ask_peer")) network_.ask_peer(socket->end, ask);
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

// Whoever asks sees who owns what; there are no descriptors here.
bool SimReactor::read_holdings(reactor::HoldingsCursor&, reactor::Holdings& out) {
  using Kind = reactor::Holding::Kind;
  listeners_.for_each([&out](base::Handle id, Listener& listener) {
    out.push_back({.kind = Kind::listener, .socket = id, .owner = listener.owner});
  });
  sockets_.for_each([&out](base::Handle id, Socket& socket) {
    out.push_back({.kind = Kind::open, .socket = id, .owner = socket.owner});
  });
  datagram_sockets_.for_each([&out](base::Handle id, const DatagramSocket& socket) {
    out.push_back({.kind = socket.peer.valid() ? Kind::flow : Kind::datagrams, .socket = id, .owner = socket.owner});
  });
  return false;
}

bool SimReactor::holds(SocketId id, reactor::Owner owner) const {
  const Socket* socket = sockets_.find(id);
  return socket != nullptr && socket->owner == owner;
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
    socket.output_moved = now();
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
  left.closed = left.progress = world_.now();
  bound_linger(tag);
  forget(socket);
  linger(tag);
}

// As long as the peer takes bytes it is waited for, within flush_total; what it then has not taken, it must not believe
// to be all.
void SimReactor::bound_linger(base::Handle tag) {
  const auto end_of = [this](const Lingering& lingering) {
    return std::min(lingering.progress + limits_.user_timeout, lingering.closed + limits_.flush_total);
  };
  world_.at(end_of(*lingering_.find(tag)), [this, tag, end_of, alive = alive_] {
    const Lingering* late = *alive ? lingering_.find(tag) : nullptr;
    if (late == nullptr) return;
    if (world_.now() < end_of(*late)) return bound_linger(tag);
    const EndId end = late->end;
    const bool cut = !late->bytes.empty();
    lingering_.erase(tag);
    if (cut) return network_.reset(end);
    network_.close(end);
  });
}

void SimReactor::linger(base::Handle tag) {
  Lingering* left = lingering_.find(tag);
  const EndId end = left->end;
  if (network_.open(end)) {
    if (!network_.read(end, SIZE_MAX).empty()) {
      left->draining = true;
      left->heard = world_.now();
    }
    const std::size_t sent = network_.send(end, left->bytes);
    left->bytes.erase(0, sent);
    if (sent > 0) left->progress = world_.now();
    if (!left->bytes.empty()) return;
    if (!std::exchange(left->finished, true)) {
      network_.finish(end);
      left->heard = world_.now();
      bound_silence(tag);
    }
    if (left->draining && !network_.finished(end)) return;
  }
  lingering_.erase(tag);
  network_.close(end);
}

void SimReactor::bound_silence(base::Handle tag) {
  world_.at(lingering_.find(tag)->heard + reactor::linger_silence, [this, tag, alive = alive_] {
    const Lingering* silent = *alive ? lingering_.find(tag) : nullptr;
    if (silent == nullptr) return;
    if (world_.now() - silent->heard < reactor::linger_silence) return bound_silence(tag);
    const EndId end = silent->end;
    lingering_.erase(tag);
    network_.close(end);
  });
}

}  // namespace ebb::sim
