#include "admin/connections.h"

#include <algorithm>

#include "wire/h1_write.h"
#include "wire/http_date.h"

namespace ebb::admin {

using reactor::CloseMode;
using reactor::Receive;

namespace {

constexpr std::size_t tls_replies_max = std::size_t{32} << 10;

bool same_host(base::Address a, base::Address b) {
  a.set_port(0);
  b.set_port(0);
  return a == b;
}

bool asks_for_health(std::string_view path) {
  path = path.substr(0, path.find('?'));
  return path == "/healthz" || path == "/readyz";
}

}  // namespace

Connections::Connections(reactor::Reactor& reactor, std::shared_ptr<serve::Door> door, const Limits& limits,
                         std::uint32_t kind)
    : reactor_(reactor), door_(std::move(door)), limits_(limits), kind_(kind) {}

std::uint32_t Connections::add_listener(Access access, Router& router) {
  listeners_.push_back(std::make_unique<Listener>(std::move(access), &router));
  return static_cast<std::uint32_t>(listeners_.size() - 1);
}

void Connections::on_accepted(std::uint32_t listener, reactor::SocketId socket, const base::Address& peer) {
  Listener& place = *listeners_[listener];
  const Room room = make_room(place, peer);
  if (room == Room::none) return reactor_.close(socket, CloseMode::drop);
  const base::Handle handle = connections_.emplace();
  Connection& connection = *connections_.find(handle);
  connection.listener = &place;
  connection.health_only = room == Room::health_only;
  budget_of(connection) += 1;
  connection.peer = peer;
  connection.socket = socket;
  connection.handle = handle;
  connection.timer.set_owner({kind_, handle});
  reactor_.adopt(socket, {kind_, handle});
  connection.held_since = reactor_.now();
  if (const auto& tls = connection.listener->access.tls) {
    connection.tls.emplace(*tls);
    step(connection, Event::handshake);
    arm(connection, limits_.request);
    return reactor_.receive(socket, Receive::watchful);
  }
  step(connection, Event::plain);
  await_request(connection);
}

// Each listener has a budget of its own, and each peer a part of it. A connection that is only held open makes room for
// a new one; where all are being served, some are left for the probes of the router's own health.
Connections::Room Connections::make_room(const Listener& listener, const base::Address& peer) {
  // Each budget makes room in itself, lest the reserve for health is used up by others.
  const auto for_any = [](const Connection& connection) { return !connection.health_only; };
  const auto of_peer = [&](const Connection& connection) {
    return for_any(connection) && same_host(connection.peer, peer);
  };
  const bool part_left = listener.connections < limits_.connections_per_peer ||
                         connections_of(listener, peer) < limits_.connections_per_peer || evict(listener, of_peer);
  if (part_left && (listener.connections < limits_.connections || evict(listener, for_any))) return Room::any;
  // A probe may come from the same address as those that are being served: from this machine, or through a proxy.
  const auto for_health = [](const Connection& connection) { return connection.health_only; };
  const bool room = listener.health_connections < limits_.connections_for_health || evict(listener, for_health);
  return room ? Room::health_only : Room::none;
}

std::size_t& Connections::budget_of(Connection& connection) {
  return connection.health_only ? connection.listener->health_connections : connection.listener->connections;
}

std::size_t Connections::connections_of(const Listener& listener, const base::Address& peer) {
  std::size_t count = 0;
  connections_.for_each([&](base::Handle, const Connection& connection) {
    const bool counts = !connection.life.ended() && connection.listener == &listener && !connection.health_only;
    if (counts && same_host(connection.peer, peer)) count += 1;
  });
  return count;
}

// Closes one that is only held open. False: there is none.
template <class Among>
bool Connections::evict(const Listener& listener, Among&& among) {
  serve::HeldOpen all;
  connections_.for_each([&](base::Handle handle, const Connection& connection) {
    if (connection.listener != &listener || !among(connection)) return;
    if (const auto kind = held(connection)) all.add(*kind, connection.held_since, handle);
  });
  Connection* const chosen = connections_.find(all.to_close());
  if (chosen == nullptr) return false;
  close(*chosen);
  return true;
}

// Nothing: it is being served.
std::optional<serve::Held> Connections::held(const Connection& connection) {
  const bool serving = connection.life.is(State::serving);
  if (connection.life.ended() || (serving && !connection.answered)) return std::nullopt;
  if (serving || connection.life.is(State::lingering)) return serve::Held::answered;
  return connection.exchange > 0 ? serve::Held::between_requests : serve::Held::never_asked;
}

void Connections::on_received(base::Handle handle, base::Slice bytes) {
  Connection* const connection = connections_.find(handle);
  if (connection == nullptr || connection->life.is(State::lingering)) return;
  if (connection->tls) return decrypt(*connection, std::move(bytes));
  take(*connection, bytes.view());
}

void Connections::decrypt(Connection& connection, base::Slice bytes) {
  base::Chain plain;
  base::Chain cipher;
  const bool answer_waits = connection.life.is(State::serving) && connection.answered && held_back(connection);
  const auto status = connection.tls->receive(reactor_.blocks(), std::move(bytes), plain, cipher);
  // What TLS itself answers (a KeyUpdate that was asked for) is limited for one who does not read it.
  const bool reads = cipher.empty() || reactor_.unsent(connection.socket) <= tls_replies_max;
  if (!cipher.empty()) reactor_.send(connection.socket, std::move(cipher));
  if (status == wire::TlsSession::Status::failed || !reads) return close(connection);
  if (connection.life.is(State::handshaking)) {
    if (!connection.tls->handshake_done()) return;
    step(connection, Event::secured);
    arm(connection, limits_.request);
  }
  std::string text;
  while (!plain.empty()) text += plain.pop_front().view();
  if (!text.empty()) take(connection, text);
  if (status == wire::TlsSession::Status::finished) on_peer_finished(connection.handle);
  if (answer_waits) held_answer(connection);
}

// An answer waited for the rest of the client's message. These bytes may have released it, and the kernel may have
// taken it at once.
void Connections::held_answer(Connection& connection) {
  if (connection.life.ended()) return;
  if (held_back(connection)) {
    // Requests behind each new message would be kept without being read.
    if (connection.input.size() > limits_.head.head_bytes + limits_.body_bytes) close(connection);
    return;
  }
  reactor_.receive(connection.socket, Receive::paused);
  on_drained(connection.handle);
}

void Connections::take(Connection& connection, std::string_view bytes) {
  connection.input += bytes;
  if (connection.life.is(State::idle)) step(connection, Event::bytes);
  if (connection.life.is(State::reading)) read_request(connection);
}

void Connections::on_peer_finished(base::Handle handle) {
  Connection* const connection = connections_.find(handle);
  if (connection == nullptr) return;
  // A client may finish its side behind its last request and still wait for the answer.
  // Not one whose answer waits for the rest of its message: that will never come.
  if (connection->life.is(State::serving) && !held_back(*connection)) {
    connection->keep_alive = false;
  } else {
    close(*connection);
  }
}

void Connections::on_drained(base::Handle handle) {
  Connection* const connection = connections_.find(handle);
  if (connection == nullptr || !connection->life.is(State::serving) || !connection->answered) return;
  if (has_left(*connection)) answer_sent(*connection);
}

void Connections::on_failed(base::Handle handle) {
  if (Connection* const connection = connections_.find(handle)) close(*connection);
}

void Connections::on_timer(base::Handle handle) {
  Connection* const connection = connections_.find(handle);
  if (connection == nullptr) return;
  // Half a request deserves to hear why; silence does not (RFC 9110 15.5.9).
  if (connection->life.is(State::reading)) return refuse(*connection, 408, "the request did not arrive in time");
  close(*connection);
}

void Connections::on_round_end() {
  for (const base::Handle handle : graves_) connections_.erase(handle);
  graves_.clear();
}

void Connections::await_request(Connection& connection) {
  arm(connection, limits_.request);
  connection.awaited = 0;
  if (connection.input.empty()) return reactor_.receive(connection.socket, Receive::watchful);
  step(connection, Event::bytes);
  read_request(connection);
}

void Connections::read_request(Connection& connection) {
  if (connection.input.size() < connection.awaited) return;
  connection.head_only = false;
  const wire::Parsed parsed = wire::parse_request(connection.input, limits_.head, head_);
  switch (parsed.status) {
    case wire::Parsed::Status::incomplete: return reactor_.receive(connection.socket, Receive::watchful);
    case wire::Parsed::Status::refused: return refuse(connection, base::facts(parsed.cause).status, parsed.why);
    case wire::Parsed::Status::complete: break;
  }
  connection.head_only = head_.method == wire::Method::head;
  connection.minor = head_.minor;
  const Denial denial = deny(connection.listener->access, head_);
  if (denial.status != 0) return refuse(connection, denial.status, denial.words);
  if (connection.health_only && !asks_for_health(head_.path)) {
    return refuse(connection, 503, "as many requests as may are being served; try again later");
  }
  if (await_body(connection, parsed.consumed)) return;
  const std::size_t size = parsed.consumed + static_cast<std::size_t>(head_.content_length);
  serve(connection, parsed.consumed);
  // Behind serve(), which reads views into it. What is left waits; no more is received meanwhile.
  connection.input.erase(0, size);
}

// True: it is not there yet, or never will be.
bool Connections::await_body(Connection& connection, std::size_t head_bytes) {
  if (head_.framing == wire::Framing::chunked) {
    refuse(connection, 411, "say how long the body is: a field Content-Length is needed");
    return true;
  }
  if (head_.content_length > limits_.body_bytes) {
    refuse(connection, 413, "no page takes so large a body");
    return true;
  }
  const bool first_look = connection.awaited == 0;
  connection.awaited = head_bytes + static_cast<std::size_t>(head_.content_length);
  if (connection.input.size() >= connection.awaited) return false;
  if (head_.expect_continue && first_look) {
    base::Chain interim;
    interim.push(reactor_.blocks().copy("HTTP/1.1 100 Continue\r\n\r\n"));
    send(connection, std::move(interim));
  }
  reactor_.receive(connection.socket, Receive::watchful);
  return true;
}

// Answers come by way of the mailbox, never from inside dispatch(): pipelined requests do not pile up on the stack.
void Connections::serve(Connection& connection, std::size_t head_bytes) {
  step(connection, Event::head_complete);
  reactor_.receive(connection.socket, Receive::paused);
  arm(connection, limits_.serve);
  connection.exchange += 1;
  connection.answered = false;
  connection.keep_alive = head_.keep_alive;

  const std::size_t question = std::min(head_.path.find('?'), head_.path.size());
  const wire::Field* const accept = head_.fields.find("accept");
  const std::string_view input = connection.input;
  const Request request{.method = head_.method,
                        .path = head_.path.substr(0, question),
                        .query = head_.path.substr(std::min(question + 1, head_.path.size())),
                        .accept = accept == nullptr ? std::string_view() : accept->value,
                        .body = input.substr(head_bytes, static_cast<std::size_t>(head_.content_length)),
                        .peer = connection.peer};
  connection.listener->router->dispatch(request, respond_to(connection));
}

Respond Connections::respond_to(const Connection& connection) {
  return [this, door = door_, handle = connection.handle, exchange = connection.exchange](Answer given) {
    door->post([this, handle, exchange, given = std::move(given)] {
      Connection* const found = connections_.find(handle);
      const bool waiting = found != nullptr && found->life.is(State::serving) && found->exchange == exchange;
      if (waiting && !found->answered) answer(*found, given);
    });
  };
}

// What is no request that we serve: said, and no more is read as a request.
void Connections::refuse(Connection& connection, int status, std::string_view words) {
  connection.keep_alive = false;
  Answer refusal = plain_answer(status, words);
  if (status == 401) refusal.extra = "WWW-Authenticate: Bearer\r\n";
  answer(connection, refusal);
}

void Connections::answer(Connection& connection, const Answer& answer) {
  // Memory is for those who read: where unread answers take nearly all of it, the oldest of them go.
  const auto unread = [](const Connection& other) { return other.life.is(State::serving) && other.answered; };
  for (const auto& listener : listeners_) {
    while (reactor_.blocks().crowded() && evict(*listener, unread)) {
    }
  }
  const std::string date = wire::http_date(reactor_.clock().wall());
  response_.status = static_cast<std::uint16_t>(answer.status);
  response_.reason = wire::reason_phrase(answer.status);
  response_.has_length = answer.status != 204;  // RFC 9110 8.6
  response_.content_length = answer.body.size();
  response_.fields.clear();
  response_.fields.add({.name = "Date", .value = date});
  if (!answer.body.empty()) response_.fields.add({.name = "Content-Type", .value = answer.content_type});
  response_.fields.add({.name = "Cache-Control", .value = "no-store"});
  response_.fields.add({.name = "X-Content-Type-Options", .value = "nosniff"});

  base::Chain bytes;
  const wire::ResponsePlan plan{
      .client_minor = connection.minor, .keep_alive = connection.keep_alive, .extra = answer.extra};
  bytes.push(wire::write_response(reactor_.blocks(), response_, plan));
  if (!connection.head_only && !answer.body.empty()) bytes.push(reactor_.blocks().copy(answer.body));
  send(connection, std::move(bytes));
  if (connection.life.ended()) return;
  connection.answered = true;
  connection.held_since = reactor_.now();
  arm(connection, limits_.answer);
  if (held_back(connection)) return await_release(connection);
  if (connection.life.is(State::reading) || has_left(connection)) answer_sent(connection);
}

// The rest of the client's message has to be read, and no other request is: answers would pile up.
void Connections::await_release(Connection& connection) {
  if (connection.life.is(State::reading)) step(connection, Event::head_complete);  // a refusal is served like an answer
  reactor_.receive(connection.socket, Receive::watchful);
}

// While a TLS message of the client is half read, nothing can be sent (wire::TlsSession::held).
bool Connections::held_back(const Connection& connection) { return connection.tls && connection.tls->held() > 0; }

bool Connections::has_left(const Connection& connection) const {
  return reactor_.unsent(connection.socket) == 0 && !held_back(connection);
}

void Connections::send(Connection& connection, base::Chain&& bytes) {
  if (!connection.tls) return reactor_.send(connection.socket, std::move(bytes));
  base::Chain cipher;
  const auto status = connection.tls->send(reactor_.blocks(), std::move(bytes), cipher);
  if (!cipher.empty()) reactor_.send(connection.socket, std::move(cipher));
  if (status == wire::TlsSession::Status::failed) close(connection);
}

void Connections::answer_sent(Connection& connection) {
  if (connection.keep_alive) {
    step(connection, Event::kept);
    return await_request(connection);
  }
  // RFC 9112 9.6: finish our side, then read and drop what still comes, lest a reset destroys the answer.
  step(connection, connection.life.is(State::reading) ? Event::refused : Event::last);
  connection.input.clear();
  if (connection.tls) {
    base::Chain cipher;
    connection.tls->close_notify(reactor_.blocks(), cipher);
    if (!cipher.empty()) reactor_.send(connection.socket, std::move(cipher));
  }
  reactor_.finish(connection.socket);
  reactor_.receive(connection.socket, Receive::watchful);
  arm(connection, limits_.linger);
}

void Connections::step(Connection& connection, Event event) {
  if (connection.life.step(event)) return;
  missing_transitions_ += 1;
  close(connection);  // it harms this one only (lifecycle/machine.h)
}

void Connections::arm(Connection& connection, base::Duration delay) {
  reactor_.timers().arm(connection.timer, reactor_.now() + delay);
}

void Connections::close(Connection& connection) {
  if (connection.life.ended()) return;
  step(connection, Event::ended);
  connection.timer.disarm();
  budget_of(connection) -= 1;
  reactor_.close(connection.socket, CloseMode::drop);
  graves_.push_back(connection.handle);
}

}  // namespace ebb::admin
