#include "serve/server.h"

#include <algorithm>

namespace ebb::serve {

using reactor::CloseMode;
using reactor::Receive;

namespace {

constexpr char tls_handshake = 0x16;  // RFC 8446 section 5.1; no request begins with this byte
constexpr std::size_t tls_replies_max = std::size_t{32} << 10;

bool same_host(base::Address a, base::Address b) {
  a.set_port(0);
  b.set_port(0);
  return a == b;
}

bool held_by_tls(const std::optional<wire::TlsSession>& tls) { return tls && tls->held() > 0; }

}  // namespace

void WayBack::post(Task task) const {
  door_->post([server = server_, connection = connection_, task = std::move(task)]() mutable {
    server->resume(connection, std::move(task));
  });
}

Server::Server(reactor::EpollReactor& reactor)
    : reactor_(reactor), door_(std::make_shared<Door>(reactor)), alarms_(reactor, alarm) {}

std::uint32_t Server::offer(Service service) {
  offered_.push_back(std::make_unique<Offered>(std::move(service)));
  return static_cast<std::uint32_t>(offered_.size() - 1);
}

base::Result<reactor::ListenerId> Server::listen(std::uint32_t number, const base::Address& address) {
  const reactor::ListenerId opened = EBB_TRY(reactor_.listen(address, {number * kinds + listener, {number, 0}}));
  listeners_.push_back(opened);
  return opened;
}

base::Result<reactor::ListenerId> Server::listen_at(std::uint32_t number, reactor::Descriptor listening) {
  const reactor::ListenerId opened =
      EBB_TRY(reactor_.listen_at(std::move(listening), {number * kinds + listener, {number, 0}}));
  listeners_.push_back(opened);
  return opened;
}

void Server::leave(base::Duration grace) {
  if (std::exchange(leaving_, true)) return;
  for (const reactor::ListenerId one : listeners_) reactor_.close_listener(one);
  std::vector<base::Handle> all;
  connections_.for_each([&all](base::Handle handle, Connection&) { all.push_back(handle); });
  for (const base::Handle handle : all) {
    Connection& one = *connections_.find(handle);
    if (one.life.is(State::open)) {
      base::Chain out;
      one.protocol->leave(out);
      send(one, std::move(out));
    }
    settle(one);
  }
  alarms_.run_after(grace, [this] { reactor_.stop(); });
}

Server::Connection* Server::find(base::Owner owner) {
  Connection* const found = connections_.find(owner.handle);
  return found == nullptr || found->life.ended() ? nullptr : found;
}

void Server::on_accepted(base::Owner owner, reactor::SocketId socket, const base::Address& peer) {
  const std::uint32_t number = number_of(owner);
  Offered& place = *offered_[number];
  const Room room = make_room(place, peer);
  if (room == Room::none) return reactor_.close(socket, CloseMode::drop);
  const base::Handle handle = connections_.emplace(place, peer);
  Connection& one = *connections_.find(handle);
  one.owner = {number * kinds + connection, handle};
  one.socket = socket;
  one.in_reserve = room == Room::in_reserve;
  (one.in_reserve ? place.in_reserve : place.connections) += 1;
  one.held_since = reactor_.now();
  one.timer.set_owner(one.owner);
  reactor_.adopt(socket, one.owner);
  reactor_.receive(socket, one.receiving);
  arm(one, leaving_ ? place.service.times.part : place.service.times.first);
  if (place.service.tls == nullptr) return open(one, Event::plain);
  if (place.service.plain_too) return;
  one.tls.emplace(*place.service.tls);
  step(one, Event::handshake);
  one.armed.waiting = Waiting::rest_of_request;  // the time limit runs on when the handshake has begun
}

// Each budget makes room within itself; otherwise other peers could use up the reserve.
Server::Room Server::make_room(const Offered& offered, const base::Address& peer) {
  const Budget& budget = offered.service.budget;
  const auto of_any = [&offered](const Connection& one) { return &one.offered == &offered && !one.in_reserve; };
  const auto of_peer = [&](const Connection& one) { return of_any(one) && same_host(one.peer, peer); };
  const bool part_left =
      offered.connections < budget.per_peer || connections_of(offered, peer) < budget.per_peer || evict(of_peer);
  if (part_left && (offered.connections < budget.connections || evict(of_any))) return Room::any;
  const auto of_reserve = [&offered](const Connection& one) { return &one.offered == &offered && one.in_reserve; };
  return offered.in_reserve < budget.reserve || evict(of_reserve) ? Room::in_reserve : Room::none;
}

std::size_t Server::connections_of(const Offered& offered, const base::Address& peer) {
  std::size_t count = 0;
  connections_.for_each([&](base::Handle, const Connection& one) {
    const bool counts = !one.life.ended() && &one.offered == &offered && !one.in_reserve;
    if (counts && same_host(one.peer, peer)) count += 1;
  });
  return count;
}

// Closes a waiting connection. False if there is none.
template <class Among>
bool Server::evict(Among&& among) {
  HeldOpen all;
  connections_.for_each([&](base::Handle handle, const Connection& one) {
    if (!among(one)) return;
    if (const auto kind = held(one)) all.add(*kind, one.held_since, handle);
  });
  Connection* const chosen = connections_.find(all.to_close());
  if (chosen == nullptr) return false;
  close(*chosen, CloseMode::drop);
  return true;
}

// Empty if a request is in progress.
std::optional<Held> Server::held(const Connection& one) const {
  if (one.life.ended()) return std::nullopt;
  if (one.life.is(State::parting)) return Held::answered;
  if (!one.life.is(State::open)) return Held::never_asked;
  if (stuck(one)) return Held::answered;
  switch (one.protocol->waiting()) {
    case Waiting::request:
    case Waiting::rest_of_request: return one.protocol->turn() > 0 ? Held::between_requests : Held::never_asked;
    case Waiting::work:
    case Waiting::tunnel: return std::nullopt;
    case Waiting::nothing: return Held::answered;
  }
  return std::nullopt;
}

void Server::open(Connection& one, Event event) {
  step(one, event);
  one.protocol = one.offered.service.speak({.peer = one.peer,
                                            .port = reactor_.local_address(one.socket).port(),
                                            .in_reserve = one.in_reserve,
                                            .alpn = one.tls ? one.tls->alpn() : std::string_view(),
                                            .secured = one.tls.has_value(),
                                            .way_back = WayBack(door_, *this, one.owner.handle)});
  if (!leaving_) return;
  base::Chain out;
  one.protocol->leave(out);
  send(one, std::move(out));
}

void Server::on_received(base::Owner owner, base::Slice bytes) {
  Connection* const one = find(owner);
  if (one == nullptr || one->life.is(State::parting)) return;
  if (one->life.is(State::greeting)) {
    if (bytes.view().starts_with(tls_handshake)) {
      one->tls.emplace(*one->offered.service.tls);
      step(*one, Event::handshake);
    } else {
      open(*one, Event::plain);
    }
  }
  if (one->tls) return decrypt(*one, std::move(bytes));
  take(*one, std::move(bytes));
  settle(*one, true);
}

void Server::decrypt(Connection& one, base::Slice bytes) {
  base::Chain plain;
  base::Chain cipher;
  const auto status = one.tls->receive(reactor_.blocks(), std::move(bytes), plain, cipher);
  // Replies by TLS itself (to a requested KeyUpdate) are limited for a client that does not read them.
  const bool reads = cipher.empty() || reactor_.unsent(one.socket) <= tls_replies_max;
  if (!cipher.empty()) reactor_.send(one.socket, std::move(cipher));
  if (!reads) return close(one, CloseMode::drop);
  if (status == wire::TlsSession::Status::failed) return part(one);  // after the alert with the reason
  if (one.life.is(State::securing) && one.tls->handshake_done()) open(one, Event::secured);
  while (!plain.empty() && one.life.is(State::open)) take(one, plain.pop_front());
  if (status == wire::TlsSession::Status::finished) return finish_input(one);
  settle(one, true);
}

void Server::take(Connection& one, base::Slice bytes) {
  base::Chain out;
  one.protocol->take(std::move(bytes), reactor_.now(), out);
  send(one, std::move(out));
}

void Server::on_peer_finished(base::Owner owner) {
  Connection* const one = find(owner);
  if (one == nullptr) return;
  one->input_finished = true;
  if (!one->life.is(State::open)) return close(*one, CloseMode::flush);
  finish_input(*one);
}

// A client may finish its side after its last request and still wait for the answer. Not if the answer waits for the
// rest of its TLS message, which will never arrive.
void Server::finish_input(Connection& one) {
  if (!one.life.is(State::open)) return part(one);
  base::Chain out;
  const bool goes_on = !held_by_tls(one.tls) && one.protocol->finish_input(out);
  send(one, std::move(out));
  if (goes_on) return settle(one);
  part(one);
}

void Server::on_drained(base::Owner owner) {
  if (Connection* const one = find(owner)) settle(*one);
}

void Server::on_failed(base::Owner owner, const base::Error&) {
  if (Connection* const one = find(owner)) close(*one, CloseMode::drop);
}

void Server::on_timer(base::Owner owner) {
  if (owner.kind == alarm) return alarms_.ring(owner.handle);
  Connection* const one = find(owner);
  if (one == nullptr) return;
  if (!one->life.is(State::open)) return close(*one, CloseMode::drop);
  if (stuck(*one)) return close(*one, CloseMode::reset);
  const Waiting waiting = one->protocol->waiting();
  if (waiting != Waiting::request && waiting != Waiting::rest_of_request) return close(*one, CloseMode::drop);
  base::Chain out;
  one->protocol->give_up(out);
  send(*one, std::move(out));
  if (one->life.ended()) return;
  if (one->protocol->waiting() == Waiting::nothing) return settle(*one);
  close(*one, CloseMode::flush);
}

void Server::on_round_end() {
  for (const base::Handle handle : graves_) connections_.erase(handle);
  graves_.clear();
  if (leaving_ && connections_.empty()) reactor_.stop();
}

void Server::resume(base::Handle handle, WayBack::Task task) {
  Connection* const one = connections_.find(handle);
  if (one == nullptr || !one->life.is(State::open)) return;
  base::Chain out;
  task(out);
  send(*one, std::move(out));
  settle(*one);
}

void Server::send(Connection& one, base::Chain&& plain) {
  if (plain.empty() || one.life.ended()) return;
  // Memory is for clients that read: if unread answers take nearly all of it, the oldest unread answers are dropped.
  const auto unread = [this, &one](const Connection& other) { return &other != &one && stuck(other); };
  while (reactor_.blocks().crowded() && evict(unread)) {
  }
  one.held_since = reactor_.now();
  if (!one.tls) return reactor_.send(one.socket, std::move(plain));
  base::Chain cipher;
  const auto status = one.tls->send(reactor_.blocks(), std::move(plain), cipher);
  if (!cipher.empty()) reactor_.send(one.socket, std::move(cipher));
  if (status == wire::TlsSession::Status::failed) close(one, CloseMode::drop);
}

// Output waits for the client to read, or to complete a TLS message, before which nothing can be sent
// (wire::TlsSession::held).
bool Server::stuck(const Connection& one) const {
  if (one.life.ended() || (one.protocol != nullptr && one.protocol->waiting() == Waiting::work)) return false;
  return reactor_.unsent(one.socket) > 0 || held_by_tls(one.tls);
}

Server::Waiting Server::waiting_of(const Connection& one) const {
  if (one.life.is(State::open)) return one.protocol->waiting();
  return one.life.is(State::securing) ? Waiting::rest_of_request : Waiting::request;
}

// Call after every event of a connection: sets the next state and its deadline.
void Server::settle(Connection& one, bool heard) {
  while (one.life.is(State::open) && !stuck(one)) {
    base::Chain out;
    one.protocol->refill(out);
    if (out.empty()) break;
    send(one, std::move(out));
  }
  if (one.life.ended() || one.life.is(State::parting)) return;
  const Armed now{.waiting = waiting_of(one), .turn = one.protocol ? one.protocol->turn() : 0, .stuck = stuck(one)};
  if (now.waiting == Waiting::nothing && !now.stuck) return part(one);
  if (held_by_tls(one.tls)) {
    const Service& service = one.offered.service;
    const bool too_much = one.tls->held() > service.held_max || one.protocol->kept_input() > service.kept_max;
    if (too_much) return close(one, CloseMode::reset);
  }
  listen_or_pause(one);
  const bool moves = heard && now.waiting == Waiting::tunnel && !now.stuck;
  if (now == one.armed && !moves && !leaving_) return;
  one.armed = now;
  arm(one, time_for(one, now));
}

void Server::listen_or_pause(Connection& one) {
  const bool listens =
      !one.life.is(State::open) || held_by_tls(one.tls) || one.protocol->listens(reactor_.unsent(one.socket) > 0);
  const Receive wanted = listens ? Receive::watchful : Receive::paused;
  if (std::exchange(one.receiving, wanted) != wanted) reactor_.receive(one.socket, wanted);
}

base::Duration Server::time_for(const Connection& one, const Armed& with) const {
  const TimeLimits& times = one.offered.service.times;
  if (with.stuck) return times.write;
  switch (with.waiting) {
    case Waiting::request: return leaving_ ? times.part : with.turn == 0 ? times.first : times.request;
    case Waiting::rest_of_request: return times.rest_of_request;
    case Waiting::work: return times.work;
    case Waiting::tunnel: return leaving_ ? times.part : times.tunnel;
    case Waiting::nothing: break;
  }
  return times.part;
}

void Server::part(Connection& one) {
  if (one.life.ended()) return;  // ended by an answer that TLS could not take
  const TimeLimits& times = one.offered.service.times;
  if (one.tls && one.tls->handshake_done() && one.life.is(State::open)) {
    base::Chain cipher;
    one.tls->close_notify(reactor_.blocks(), cipher);
    if (!cipher.empty()) reactor_.send(one.socket, std::move(cipher));
  }
  if (one.input_finished) return close(one, CloseMode::flush);
  if (times.part == base::Duration::zero()) return close(one, CloseMode::drop);
  step(one, Event::last);
  if (one.life.ended()) return;
  reactor_.finish(one.socket);
  if (std::exchange(one.receiving, Receive::watchful) != Receive::watchful) {
    reactor_.receive(one.socket, Receive::watchful);
  }
  arm(one, times.part);
}

void Server::step(Connection& one, Event event) {
  if (one.life.step(event)) return;
  missing_transitions_ += 1;
  close(one, CloseMode::drop);  // affects only this connection (lifecycle/machine.h)
}

void Server::arm(Connection& one, base::Duration delay) { reactor_.timers().arm(one.timer, reactor_.now() + delay); }

void Server::close(Connection& one, CloseMode mode) {
  if (one.life.ended()) return;
  step(one, Event::ended);
  one.timer.disarm();
  (one.in_reserve ? one.offered.in_reserve : one.offered.connections) -= 1;
  reactor_.close(one.socket, mode);
  graves_.push_back(one.owner.handle);
}

}  // namespace ebb::serve
