#include "gate/backends.h"

#include "gate/attempts.h"
#include "gate/gather.h"
#include "gate/h2_backends.h"
#include "gate/health.h"
#include "gate/payload.h"
#include "gate/request_path.h"
#include "gate/response_path.h"
#include "gate/tunnel.h"

namespace ebb::gate {

using base::Cause;
using base::Handle;
using base::Side;
using reactor::CloseMode;
using reactor::Receive;

namespace {

constexpr base::Duration handshake_look = std::chrono::milliseconds{500};  // does anybody still wait for it?

}  // namespace

void Backends::step(BackendConnection& connection, Event event) {
  if (!connection.life.step(event)) broken_.add(core_, connection.self);
}

Handle Backends::lease(LiveEndpoint& endpoint, Handle exchange, bool look) {
  while (BackendConnection* connection = endpoint.pool.front()) {
    const base::Instant now = core_.reactor.now();
    // The others have been idle for longer.
    if (now - connection->idle_since > endpoint.idle_limit.reuse_within(!look, now)) return {};
    if (look && core_.reactor.peer_gone(connection->socket)) {
      close(connection->self, Cause::backend_idle_closed);
      continue;
    }
    leave_pool(*connection);
    endpoint.idle_budget.at_work(core_.reactor.now(), endpoint.connections - endpoint.idle);
    step(*connection, Event::lease);
    connection->exchange = exchange;
    connection->request_at = connection->handed;
    connection->timer.disarm();
    core_.counters.backend_reused += 1;
    return connection->self;
  }
  return {};
}

base::Result<Handle> Backends::open(Handle endpoint, Handle exchange, const BackendTarget& target) {
  auto opened = connect(endpoint, target);
  if (opened) connections_.find(*opened)->exchange = exchange;
  return opened;
}

base::Result<Handle> Backends::connect(Handle endpoint_handle, const BackendTarget& target) {
  EBB_FIND(endpoint, core_.endpoints->find(endpoint_handle), base::fail(Cause::internal, "endpoint"));
  const Handle self = connections_.emplace();
  BackendConnection& connection = *connections_.find(self);
  auto socket = core_.reactor.connect(endpoint.address, {owner_backend, self});
  if (!socket) {
    connections_.erase(self);
    return std::unexpected(socket.error());
  }
  connection.socket = *socket;
  connection.self = self;
  connection.endpoint = endpoint_handle;
  connection.idle_time = target.model.idle_timeout;
  connection.idle_limits = {target.model.idle_per_endpoint, target.model.idle_per_endpoint_max};
  connection.streams_max = target.model.http2.streams;
  connection.max_age = target.model.http2.max_age;
  connection.timer.set_owner({owner_backend, self});
  connection.manner = target.manner;
  connection.for_one = !target.preface.empty();
  connection.preface = target.preface;
  if (target.tls) connection.secure = std::make_unique<SecureLayer>(target.tls);
  endpoint.connections += 1;
  endpoint.idle_budget.at_work(core_.reactor.now(), endpoint.connections - endpoint.idle);
  endpoint.tally.connects += 1;
  core_.counters.backend_opened += 1;
  core_.arm(connection.timer, target.model.connect_timeout);
  connection.established_by =
      core_.reactor.now() + std::max(target.model.connect_timeout, target.model.handshake_timeout);
  return self;
}

bool Backends::add_head(Handle end, const wire::WrittenRequest& head, wire::Method method, bool, base::Chain& out) {
  EBB_FIND(connection, find(end), false);
  connection.answer = {.asked = method};
  out.push(head.text());
  return true;
}

void Backends::add_payload(Handle, const base::Slice& payload, wire::Framing framing, base::Chain& out) {
  append_payload(core_.reactor.blocks(), out, payload, 0, payload.size(), framing == wire::Framing::chunked);
}

void Backends::add_end(Handle, std::string_view trailers, wire::Framing framing, base::Chain& out) {
  if (framing == wire::Framing::chunked) append_last_chunk(core_.reactor.blocks(), out, trailers);
}

void Backends::flush(Handle end, base::Chain&& out) {
  if (out.empty()) return;
  EBB_FIND(connection, find(end));
  send(connection, std::move(out));
}

void Backends::send(BackendConnection& connection, base::Chain&& plain) {
  const std::size_t bytes = connection.send(core_.reactor, std::move(plain));
  core_.counters.backend_bytes_out += bytes;
  note_written(connection, bytes);
}

void Backends::note_written(BackendConnection& connection, std::uint64_t bytes) {
  connection.handed += bytes;
  connection.asked_since = std::min(connection.asked_since, core_.reactor.now());
}

void Backends::pumped(Handle handle, std::uint64_t bytes) {
  BackendConnection* connection = find(handle);
  if (connection != nullptr) note_written(*connection, bytes);
}

void Backends::finish(Handle end) {
  EBB_FIND(connection, find(end));
  const std::size_t bytes = connection.finish(core_.reactor);
  if (bytes > 0) note_written(connection, bytes);
}

reactor::SocketId Backends::bare_socket(Handle end) {
  EBB_FIND(connection, find(end), {});
  return connection.bare_socket();
}

std::size_t Backends::unsent(Handle end) {
  const BackendConnection* connection = find(end);
  return connection == nullptr ? 0 : connection->unsent(core_.reactor);
}

bool Backends::stuck(Handle end, std::size_t share) {
  const BackendConnection* connection = find(end);
  return connection != nullptr &&
         waits_too_much(connection->unsent(core_.reactor), connection->output_memory(core_.reactor), share);
}

std::size_t Backends::memory(Handle end) {
  const BackendConnection* connection = find(end);
  return connection == nullptr ? 0 : connection->output_memory(core_.reactor) + connection->input.held();
}

base::Backlog Backends::backlog(Handle end) {
  const BackendConnection* connection = find(end);
  return connection == nullptr ? base::Backlog{} : connection->backlog(core_.reactor);
}

void Backends::receive(Handle end, Receive mode) {
  EBB_FIND(connection, find(end));
  core_.reactor.receive(connection.socket, mode);
}

bool Backends::hand_over(Handle end, Handle exchange) {
  BackendConnection* connection = find(end);
  if (connection == nullptr || connection->life.ended()) return false;
  connection->exchange = exchange;
  return true;
}

void Backends::leave(Handle end) {
  EBB_FIND(connection, find(end));
  connection.exchange = {};
}

void Backends::become_tunnel(Handle end) {
  EBB_FIND(connection, find(end));
  step(connection, Event::upgraded);
}

base::Chain Backends::early_bytes(Handle end) {
  EBB_FIND(connection, find(end), {});
  return std::move(connection.input);
}

bool Backends::has_deadline(Handle end) {
  const BackendConnection* connection = find(end);
  return connection != nullptr && connection->timer.armed();
}

bool Backends::unanswered(Handle end) {
  const BackendConnection* connection = find(end);
  return connection != nullptr && connection->life.is(State::connecting);
}

std::uint64_t Backends::body_left(Handle end) {
  EBB_FIND(connection, find(end), 0);
  return connection.answer.body.remaining();
}

bool Backends::acknowledges(const BackendConnection& connection) {
  const auto facts = core_.reactor.tcp_facts(connection.socket);
  return facts && (facts->unacknowledged == 0 || facts->timeouts == 0);
}

// The exchange is over: back to the pool, within its budget, or closed.
void Backends::release(Handle handle, bool keep) {
  EBB_FIND(connection, find(handle));
  EBB_FIND(endpoint, core_.endpoints->find(connection.endpoint), close(handle, Cause::internal));
  connection.exchange = {};
  // What came behind the response was not asked for.
  if (!keep || !connection.answer.keeps || !connection.input.empty()) return close(handle, Cause::close_requested);
  if (core_.stopping) return close(handle, Cause::shutdown);
  if (endpoint.draining()) return close(handle, endpoint.drain_cause());
  if (connection.for_one) return close(handle, Cause::close_requested);
  if (connection.manner != endpoint.manner) return close(handle, Cause::backend_changed);
  if (!connection.idle_limits.keep_any()) return close(handle, Cause::backend_idle_budget);
  step(connection, Event::release);
  const std::uint32_t allowed = endpoint.idle_budget.allowed(core_.reactor.now(), connection.idle_limits);
  // A budget that has shrunk is reached step by step; what is not used at all goes when its time is over.
  for (int closed = 0; closed < 2 && endpoint.idle >= allowed; ++closed) {
    close(endpoint.pool.back()->self, Cause::backend_idle_budget);
  }
  endpoint.pool.push_front(connection);
  endpoint.idle += 1;
  connection.idle_since = core_.reactor.now();
  core_.arm(connection.timer,
            std::min(connection.idle_time, endpoint.idle_limit.reuse_within(true, connection.idle_since)));
  core_.reactor.receive(connection.socket, Receive::piecewise);  // to see the endpoint's FIN
}

void Backends::leave_pool(BackendConnection& connection) {
  if (!connection.linked()) return;
  connection.unlink();
  EBB_FIND(endpoint, core_.endpoints->find(connection.endpoint));
  endpoint.idle -= 1;
}

void Backends::close(Handle handle, Cause cause, CloseMode mode) {
  BackendConnection* connection = connections_.find(handle);
  if (connection == nullptr || connection->life.ended()) return;
  LiveEndpoint* endpoint = core_.endpoints->find(connection->endpoint);
  if (endpoint == nullptr) core_.lost();
  if (endpoint != nullptr && connection->life.is(State::connecting)) core_.health->connect_failed(*endpoint, cause);
  step(*connection, Event::ended);
  leave_pool(*connection);
  connection->timer.disarm();
  connection->input.clear();
  core_.reactor.close(connection->socket, mode);
  core_.counters.closed_by(Side::backend, cause);
  if (endpoint != nullptr) {
    endpoint->connections -= 1;
    core_.endpoints->wake(endpoint->view);  // there may be room for another
  }
  dead_.push_back(handle);
  if (connection->h2) core_.h2_backends->on_closed(*connection, cause);
}

void Backends::close_idle(LiveEndpoint& endpoint, Cause cause) {
  while (BackendConnection* connection = endpoint.pool.front()) close(connection->self, cause);
}

void Backends::close_all(Cause cause) {
  std::vector<Handle> all;
  connections_.for_each([&all](Handle handle, BackendConnection&) { all.push_back(handle); });
  for (const Handle handle : all) close(handle, cause);
}

void Backends::fail_all(Handle endpoint, Cause cause) {
  std::vector<Handle> all;
  connections_.for_each([&all, endpoint](Handle handle, const BackendConnection& connection) {
    if (connection.endpoint == endpoint && !connection.life.ended()) all.push_back(handle);
  });
  for (const Handle handle : all) {
    BackendConnection* connection = connections_.find(handle);
    if (connection != nullptr && !connection->life.ended()) fail(*connection, cause);
  }
}

void Backends::on_connected(Handle handle) {
  BackendConnection* connection = connections_.find(handle);
  if (connection == nullptr || connection->life.ended()) return;
  if (!connection->preface.empty()) {
    base::Chain out;
    out.push(std::move(connection->preface));
    note_written(*connection, out.bytes());
    core_.reactor.send(connection->socket, std::move(out));
  }
  if (connection->secure == nullptr) {
    step(*connection, Event::connected);
    return established(*connection);
  }
  step(*connection, Event::handshake);  // within the time to connect
  note_written(*connection, connection->start(core_.reactor));
  core_.reactor.receive(connection->socket, Receive::piecewise);
}

void Backends::established(BackendConnection& connection) {
  if (connection.h2 && !core_.h2_backends->disagrees(connection)) return core_.h2_backends->on_established(connection);
  if (connection.h2) return core_.h2_backends->give_up(connection);
  if (connection.secure != nullptr) {
    EBB_FIND(endpoint, core_.endpoints->find(connection.endpoint), fail(connection, Cause::internal));
    endpoint.speaks_h2 = connection.secure->session.alpn() == "h2";
    if (endpoint.speaks_h2) return core_.h2_backends->adopt(connection);
  }
  connection.timer.disarm();
  connection.request_at = connection.handed;
  core_.reactor.receive(connection.socket, Receive::piecewise);
  if (!connection.exchange) return release(connection.self, true);  // who asked for it has moved on
  core_.attempts->on_leased(connection.exchange, *this, connection.self);
}

void Backends::multiplexed(BackendConnection& connection) { step(connection, Event::multiplexed); }

void Backends::on_received(Handle handle, base::Slice bytes) {
  BackendConnection* connection = connections_.find(handle);
  if (connection == nullptr || connection->life.ended()) return;
  core_.counters.backend_bytes_in += bytes.size();
  connection->asked_since = base::Instant::max();
  if (connection->secure == nullptr) return take_plain(*connection, std::move(bytes));
  const bool held = connection->held() > 0;
  base::Chain plain;
  const Transport::Received received = connection->decrypt(core_.reactor, std::move(bytes), plain);
  if (received.replied > 0) note_written(*connection, received.replied);
  if (received.status == Transport::Status::failed) return fail(*connection, received.cause);
  if (received.secured) {
    step(*connection, Event::secured);
    established(*connection);
  }
  while (!plain.empty() && !connection->life.ended()) take_plain(*connection, plain.pop_front());
  if (connection->life.ended()) return;
  if (received.status == Transport::Status::finished) return on_peer_finished(handle);
  // What was held has left with these bytes, and the kernel may have taken it at once.
  if (held && connection->unsent(core_.reactor) == 0) on_drained(handle);
}

void Backends::take_plain(BackendConnection& connection, base::Slice bytes) {
  if (connection.h2) return core_.h2_backends->on_received(connection, std::move(bytes));
  // An endpoint that speaks without being asked (RFC 9112 9.2: some send 408 before they close) is not used again.
  if (connection.life.is(State::idle)) return close(connection.self, Cause::backend_bad_response);
  const Handle exchange = connection.exchange;
  if (connection.life.is(State::tunnelling)) {
    return core_.tunnel->on_backend_bytes(exchange, std::move(bytes));
  }
  connection.answer.heard = true;
  connection.input.push(std::move(bytes));
  const bool had_head = connection.answer.has_head;
  if (had_head) core_.response_path->on_heard(exchange);
  if (had_head || read_heads(connection)) read_body(connection);
}

// False: there is no body to read, or not yet.
bool Backends::read_heads(BackendConnection& connection) {
  const wire::HeadLimits limits = core_.head_limits();
  const Handle exchange = connection.exchange;
  base::Chain& input = connection.input;
  while (!input.empty()) {
    if (input.slices() > 1) gather(core_.reactor.blocks(), input, limits.head_bytes);
    wire::ResponseHead& head = core_.response;
    const wire::Parsed parsed = wire::parse_response(input.front().view(), limits, connection.answer.asked, head);
    core_.response_path->on_heard(exchange);  // whatever it is that has come
    if (parsed.status == wire::Parsed::Status::incomplete) {
      gather(core_.reactor.blocks(), input, limits.head_bytes);
      break;
    }
    if (parsed.status == wire::Parsed::Status::refused) {
      fail(connection, Cause::backend_bad_response);
      return false;
    }
    // What lies behind the head must be in place before a tunnel takes it; the head's views end with these bytes.
    const base::Slice head_bytes = input.front();
    input.drop_front(parsed.consumed);
    if (!head.interim()) {
      connection.answer.has_head = true;
      connection.answer.keeps = head.keep_alive && head.framing != wire::Framing::until_close;
      connection.answer.body = wire::BodyReader(head.framing, head.content_length);
    }
    core_.response_path->on_head(exchange, head);
    // The exchange may have ended it, or made a tunnel of it.
    if (!connection.life.is(State::leased)) return false;
    if (connection.answer.has_head) return true;
  }
  core_.response_path->on_moved(exchange);
  return false;
}

void Backends::read_body(BackendConnection& connection) {
  const Handle exchange = connection.exchange;
  base::Chain& input = connection.input;
  wire::BodyReader& body = connection.answer.body;
  bool broken = false;
  while (!input.empty() && !body.complete() && !broken) {
    const base::Slice& front = input.front();
    const wire::BodyReader::Step step = body.next(front.view());
    broken = step.status == wire::BodyReader::Step::Status::refused;
    if (step.payload_size > 0) {
      core_.response_path->on_payload(exchange, front, step.payload_at, step.payload_size);
    }
    if (!broken) input.drop_front(step.consumed);
  }
  if (body.complete()) return core_.response_path->on_whole(exchange, body.trailers());
  core_.response_path->on_moved(exchange);
  if (broken && connection.life.is(State::leased)) fail(connection, Cause::backend_bad_response);
}

void Backends::on_pumped(Handle handle, std::uint64_t moved, bool done) {
  BackendConnection* connection = connections_.find(handle);
  if (connection == nullptr || !core_.response_path->on_pumped(connection->exchange, moved)) return;
  connection->answer.body.skip(moved);
  if (done) core_.response_path->on_whole(connection->exchange, {});
}

void Backends::on_peer_finished(Handle handle) {
  BackendConnection* connection = connections_.find(handle);
  if (connection == nullptr || connection->life.ended()) return;
  if (connection->life.is(State::idle)) {
    note_idle_close(*connection);
    return close(handle, Cause::backend_idle_closed);
  }
  if (connection->life.is(State::securing)) return fail(*connection, Cause::backend_tls_failed);
  note_fin(*connection);
  if (connection->h2) {
    return close(handle, connection->h2->busy() == 0 ? Cause::backend_idle_closed : Cause::backend_closed);
  }
  if (connection->life.is(State::tunnelling)) return core_.tunnel->on_backend_finished(connection->exchange);
  const H1Answer& answer = connection->answer;
  if (answer.has_head && answer.body.framing() == wire::Framing::until_close) {
    return core_.response_path->on_whole(connection->exchange, {});
  }
  fail(*connection, answer.heard ? Cause::backend_truncated : Cause::backend_closed);
}

void Backends::note_fin(BackendConnection& connection) {
  if (connection.life.is(State::tunnelling)) return;
  if (const auto facts = core_.reactor.tcp_facts(connection.socket)) connection.delivered = facts->acknowledged;
}

void Backends::note_idle_close(const BackendConnection& connection) {
  EBB_FIND(endpoint, core_.endpoints->find(connection.endpoint));
  const base::Instant now = core_.reactor.now();
  endpoint.idle_limit.closed_after(now - connection.idle_since, now);
}

void Backends::on_drained(Handle handle) {
  BackendConnection* connection = connections_.find(handle);
  if (connection == nullptr || connection->life.ended()) return;
  if (connection->h2) return core_.h2_backends->on_drained(*connection);
  core_.request_path->on_backend_drained(connection->exchange);
}

void Backends::on_failed(Handle handle, const base::Error& error) {
  BackendConnection* connection = connections_.find(handle);
  if (connection == nullptr || connection->life.ended()) return;
  const bool was_idle = connection->life.is(State::idle) || (connection->h2 && connection->h2->busy() == 0);
  if (connection->life.is(State::idle)) note_idle_close(*connection);
  if (reactor::peer_had_finished(error)) note_fin(*connection);
  fail(*connection, was_idle ? Cause::backend_idle_closed : error.cause);
}

// Whoever waits for it is told.
void Backends::fail(BackendConnection& connection, Cause cause) {
  const Handle exchange = connection.life.is(State::idle) ? Handle{} : connection.exchange;
  const lifecycle::Delivery delivery = lifecycle::delivery(connection.delivered, connection.request_at);
  close(connection.self, cause);
  if (exchange) core_.attempts->on_backend_failed(exchange, cause, delivery);
}

// Its kernel has answered; the handshakes are its process's affair, which may be slow. Who waits would have to wait for
// an answer as well.
bool Backends::may_take_longer(BackendConnection& connection) {
  const base::Instant now = core_.reactor.now();
  if (connection.life.is(State::connecting) || now >= connection.established_by) return false;
  core_.reactor.timers().arm(connection.timer, std::min(now + handshake_look, connection.established_by));
  return true;
}

void Backends::on_timer(Handle handle) {
  BackendConnection* connection = connections_.find(handle);
  if (connection == nullptr || connection->life.ended()) return;
  if (connection->h2) return core_.h2_backends->on_timer(*connection);
  if (connection->life.is(State::idle)) return close(handle, Cause::backend_idle_timeout);
  if (connection->exchange && may_take_longer(*connection)) return;
  fail(*connection, Cause::backend_connect_timeout);
}

bool Backends::end_broken() {
  const std::vector<Handle> all = broken_.take();
  for (const Handle handle : all) {
    BackendConnection* connection = connections_.find(handle);
    if (connection != nullptr && !connection->life.ended()) fail(*connection, Cause::internal);
  }
  return core_.h2_backends->end_broken() || !all.empty();
}

void Backends::bury() {
  for (const Handle handle : dead_) {
    const BackendConnection* connection = connections_.find(handle);
    EBB_ASSERT(connection != nullptr && connection->life.ended());
    EBB_ASSERT(!connection->timer.armed() && connection->input.empty() && !connection->linked());
    EBB_ASSERT(connection->h2 == nullptr || connection->h2->busy() == 0);
    const Handle endpoint = connection->endpoint;
    connections_.erase(handle);
    core_.endpoints->settle(endpoint);
  }
  dead_.clear();
}

void Backends::count_states(observe::ConnectionStates& states) {
  static_assert(std::size(lifecycle::BackendConnectionLife::state_names) <=
                std::tuple_size_v<observe::ConnectionStates>);
  connections_.for_each([&states](Handle, BackendConnection& connection) {
    if (!connection.life.ended()) states[static_cast<std::size_t>(connection.life.state())] += 1;
  });
}

}  // namespace ebb::gate
