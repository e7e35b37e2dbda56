#include "gate/h2_backends.h"

#include <algorithm>

#include "gate/attempts.h"
#include "gate/health.h"
#include "gate/payload.h"
#include "gate/request_path.h"
#include "gate/response_path.h"
#include "gate/tunnel.h"
#include "wire/h1_write.h"
#include "wire/websocket.h"

namespace ebb::gate {

using base::Cause;
using base::Chain;
using base::Handle;
using base::Slice;
using lifecycle::Delivery;
using reactor::CloseMode;
using reactor::Receive;
using wire::H2Session;
using wire::StreamId;
using StreamState = lifecycle::BackendStreamLife::State;

namespace {

constexpr lifecycle::SilenceLimits silence_limits;
// Until the endpoint has said how many streams it takes.
constexpr std::size_t waiting_max = 100;
// A stream that stalls holds at most its window.
constexpr std::uint32_t stream_window = std::uint32_t{32} << 10;
// Unsent payload of one call above this stops its client.
constexpr std::size_t call_high_water = std::size_t{64} << 10;

// The endpoint's SETTINGS are there.
bool serves(const BackendConnection& connection) { return connection.life.is(BackendState::multiplexing); }

}  // namespace

void H2BackendSession::on_response(StreamId stream, const wire::ResponseHead& head) {
  if (const Handle half = half_of(streams, stream)) owner_.on_response(*this, half, head);
}
void H2BackendSession::on_payload(StreamId stream, Slice bytes) {
  const Handle half = half_of(streams, stream);
  if (!half) return codec.consumed(stream, bytes.size());
  owner_.on_payload(*this, half, std::move(bytes));
}
void H2BackendSession::on_whole(StreamId stream, std::string_view trailers) {
  if (const Handle half = half_of(streams, stream)) owner_.on_whole(half, trailers);
}
void H2BackendSession::on_stream_failed(StreamId stream, Cause cause, bool unprocessed) {
  if (const Handle half = half_of(streams, stream)) owner_.on_stream_failed(half, cause, unprocessed);
}
void H2BackendSession::on_stream_drained(StreamId stream) {
  if (const Handle half = half_of(streams, stream)) owner_.on_stream_drained(half);
}

// A stream that is over is of no use to anybody from here on.
void H2Backends::step(BackendStream& call, Event event) {
  const bool waited = call.life.is(StreamState::waiting);
  if (!call.life.step(event)) return broken_.add(core_, call.self);
  if (!call.life.ended()) return;
  dead_.push_back(call.self);
  call.exchange = {};
  EBB_FIND(connection, core_.backends->find(call.connection));
  if (call.id != 0) connection.h2->streams.erase(call.id);
  if (waited) std::erase(connection.h2->waiting, call.self);
  if (connection.h2->busy() == 0 && !connection.life.ended()) rest(connection);
}

Handle H2Backends::lease(LiveEndpoint& endpoint, Handle exchange, bool look) {
  while (BackendConnection* connection = with_room(endpoint)) {
    if (look && core_.reactor.peer_gone(connection->socket)) {
      // Answers may lie before the end that is in sight. Those who wait for one are told by the end itself, and not in
      // the middle of a choice for somebody else.
      if (connection->h2->busy() > 0) {
        connection->h2->retire(Cause::backend_closed);
      } else {
        core_.backends->close(connection->self, Cause::backend_idle_closed);
      }
      continue;
    }
    core_.counters.backend_reused += 1;
    BackendStream& call = add_call(*connection, exchange);
    step(call, Event::admitted);
    return call.self;
  }
  return {};
}

BackendConnection* H2Backends::with_room(LiveEndpoint& endpoint) {
  for (const Handle handle : endpoint.multiplexed) {
    BackendConnection* connection = core_.backends->find(handle);
    if (connection == nullptr) continue;
    const H2BackendSession& session = *connection->h2;
    if (serves(*connection) && !session.retired && session.busy() < connection->streams_max &&
        session.codec.may_open()) {
      return connection;
    }
  }
  return nullptr;
}

BackendConnection* H2Backends::connecting(LiveEndpoint& endpoint) {
  for (const Handle handle : endpoint.multiplexed) {
    BackendConnection* connection = core_.backends->find(handle);
    if (connection == nullptr) continue;
    const H2BackendSession& session = *connection->h2;
    if (!serves(*connection) && !session.retired && session.busy() < waiting_max) return connection;
  }
  return nullptr;
}

base::Result<Handle> H2Backends::open(Handle endpoint_handle, Handle exchange, const BackendTarget& target) {
  EBB_FIND(endpoint, core_.endpoints->find(endpoint_handle), base::fail(Cause::internal, "endpoint"));
  BackendConnection* connection = target.preface.empty() ? connecting(endpoint) : nullptr;
  if (connection == nullptr) {
    const auto opened = core_.backends->connect(endpoint_handle, target);
    if (!opened) return std::unexpected(opened.error());
    connection = core_.backends->find(*opened);
    make_session(*connection);
    connection->h2->presumed = endpoint.speaks_h2;
  }
  BackendStream& call = add_call(*connection, exchange);
  connection->h2->waiting.push_back(call.self);
  return call.self;
}

void H2Backends::make_session(BackendConnection& connection) {
  wire::H2Limits limits;
  limits.head = core_.head_limits();
  limits.stream_window = stream_window;
  // So that no stream can stall its neighbours. Twice, because nghttp2 gives back what was read by halves of the
  // window.
  limits.connection_window = 2 * connection.streams_max * stream_window;
  connection.h2 = std::make_unique<H2BackendSession>(*this, connection.self, limits);
  EBB_FIND(endpoint, core_.endpoints->find(connection.endpoint));
  endpoint.multiplexed.push_back(connection.self);
  // It serves those that it was opened for, and no more.
  if (connection.for_one) connection.h2->retire(Cause::close_requested);
  if (connection.manner != endpoint.manner) connection.h2->retire(Cause::backend_changed);
}

BackendStream& H2Backends::add_call(BackendConnection& connection, Handle exchange) {
  const Handle self = calls_.emplace();
  BackendStream& call = *calls_.find(self);
  call.self = self;
  call.connection = connection.self;
  call.exchange = exchange;
  return call;
}

void H2Backends::adopt(BackendConnection& connection) {
  make_session(connection);
  // None: who asked for the connection has moved on meanwhile. It stays, for others.
  if (const Handle exchange = std::exchange(connection.exchange, {})) {
    BackendStream& call = add_call(connection, exchange);
    connection.h2->waiting.push_back(call.self);
    core_.attempts->on_moved(exchange, *this, call.self);
  }
  on_established(connection);
}

// Our preface and SETTINGS go out; requests wait for the endpoint's SETTINGS, which say how many it takes and whether
// it knows extended CONNECT. The time to connect includes them: what answers nothing does not speak HTTP/2.
void H2Backends::on_established(BackendConnection& connection) {
  connection.h2->opened = core_.reactor.now();
  connection.h2->silence.heard(core_.reactor.now());
  core_.reactor.receive(connection.socket, Receive::piecewise);
  schedule(connection);
}

bool H2Backends::disagrees(const BackendConnection& connection) const {
  return connection.h2->presumed && connection.secure != nullptr && connection.secure->session.alpn() != "h2";
}

// Those who wait look again, and find an endpoint that may speak either.
void H2Backends::give_up(BackendConnection& connection) {
  EBB_FIND(endpoint, core_.endpoints->find(connection.endpoint),
           core_.backends->close(connection.self, Cause::internal));
  endpoint.speaks_h2 = false;
  H2BackendSession& session = *connection.h2;
  session.retire(Cause::backend_changed);
  const Handle self = connection.self;
  std::vector<Handle> waiting;
  waiting.swap(session.waiting);
  for (const Handle handle : waiting) {
    BackendStream* call = calls_.find(handle);
    if (call == nullptr || call->life.ended()) continue;
    const Handle exchange = call->exchange;
    forget(*call);
    core_.attempts->on_backend_full(exchange);
  }
  core_.backends->close(self, Cause::backend_changed);
}

void H2Backends::on_received(BackendConnection& connection, Slice bytes) {
  H2BackendSession& session = *connection.h2;
  session.silence.heard(core_.reactor.now());
  const H2Session::Status status = session.codec.receive(bytes, core_.reactor.now());
  if (connection.life.ended()) return;
  for (std::size_t i = 0; i < session.touched.size(); ++i) {
    const BackendStream* call = calls_.find(session.touched[i]);
    if (call != nullptr && !call->life.ended()) core_.response_path->on_moved(call->exchange);
  }
  session.touched.clear();
  if (status == H2Session::Status::failed) {
    send_now(connection);
    return core_.backends->close(connection.self, session.codec.cause(), CloseMode::flush);
  }
  if (connection.life.is(BackendState::leased) && session.codec.settings_received()) begin_serving(connection);
  if (session.retired && session.busy() == 0) {
    return core_.backends->close(connection.self, *session.retired, CloseMode::flush);
  }
  if (session.codec.has_output()) schedule(connection);
}

void H2Backends::begin_serving(BackendConnection& connection) {
  H2BackendSession& session = *connection.h2;
  core_.backends->multiplexed(connection);
  // SETTINGS that allow no stream at all, or a GOAWAY with them: another connection would hardly get more, so that the
  // endpoint has failed these tries. Else they would open one after the other, for ever.
  const bool useless = !session.codec.may_open();
  if (useless) session.retire(Cause::backend_refused_stream);
  rest(connection);
  std::vector<Handle> waiting;
  waiting.swap(session.waiting);
  for (const Handle handle : waiting) {
    BackendStream* call = calls_.find(handle);
    if (call == nullptr || call->life.ended()) continue;
    if (session.codec.may_open()) {
      step(*call, Event::admitted);
      core_.attempts->on_leased(call->exchange, *this, handle);
      continue;
    }
    const Handle exchange = call->exchange;
    forget(*call);
    if (useless) {
      core_.attempts->on_backend_failed(exchange, Cause::backend_refused_stream, Delivery::unprocessed);
    } else {  // it takes fewer than had come together
      core_.attempts->on_backend_full(exchange);
    }
  }
}

// A WebSocket handshake becomes an extended CONNECT where the endpoint knows it (RFC 8441). Offers of other protocols
// may be passed over (RFC 9110 7.8).
bool H2Backends::add_head(Handle end, const wire::WrittenRequest& head, wire::Method method, bool whole, Chain&) {
  EBB_FIND(call, calls_.find(end), false);
  EBB_FIND(connection, core_.backends->find(call.connection), false);
  H2BackendSession& session = *connection.h2;
  const bool tunnel = wire::equals_ignoring_case(head.upgrade(), "websocket");
  if (tunnel && !may_tunnel(call, session.codec, head)) return false;
  const std::string_view scheme = connection.secure != nullptr ? "https" : "http";
  call.id = session.codec.request(head, method, scheme, tunnel, whole && !tunnel);
  if (call.id == 0) return false;
  call.begins_at = connection.handed;
  session.streams.emplace(call.id, call.self);
  return true;
}

bool H2Backends::may_tunnel(BackendStream& call, const H2Session& codec, const wire::WrittenRequest& head) {
  if (!codec.peer_takes_extended_connect()) return false;
  const std::optional<std::string_view> key = head.value_of("sec-websocket-key");
  if (key) call.upgrade_key = *key;
  return key.has_value();
}

void H2Backends::add_payload(Handle, const Slice& payload, wire::Framing, Chain& out) {
  append_payload(core_.reactor.blocks(), out, payload, 0, payload.size(), false);
}

void H2Backends::add_end(Handle end, std::string_view trailers, wire::Framing, Chain& out) {
  EBB_FIND(call, calls_.find(end));
  EBB_FIND(connection, core_.backends->find(call.connection));
  H2Session& codec = connection.h2->codec;
  if (!out.empty()) give(call, codec, std::move(out));
  codec.finish(call.id, trailers);
}

void H2Backends::give(BackendStream& call, H2Session& codec, Chain&& payload) {
  if (codec.send(call.id, std::move(payload))) call.waits_since = core_.reactor.now();
}

void H2Backends::flush(Handle end, Chain&& out) {
  EBB_FIND(call, calls_.find(end));
  EBB_FIND(connection, core_.backends->find(call.connection));
  if (!out.empty()) give(call, connection.h2->codec, std::move(out));
  if (connection.h2->codec.unsent(call.id) > call_high_water) send_now(connection);
  schedule(connection);
}

std::size_t H2Backends::unsent(Handle end) {
  const BackendStream* call = calls_.find(end);
  if (call == nullptr || call->life.ended() || call->id == 0) return 0;
  EBB_FIND(connection, core_.backends->find(call->connection), 0);
  return connection.h2->codec.unsent(call->id);
}

// Only what could not leave is stuck, and drains: so what can leave does so first.
bool H2Backends::stuck(Handle end, std::size_t share) {
  const auto too_much = [this, end, share] {
    return unsent(end) > call_high_water || waits_too_much(0, memory(end), share);
  };
  if (!too_much()) return false;
  EBB_FIND(call, calls_.find(end), false);
  EBB_FIND(connection, core_.backends->find(call.connection), false);
  send_now(connection);
  schedule(connection);
  return too_much();
}

std::size_t H2Backends::memory(Handle end) {
  const BackendStream* call = calls_.find(end);
  if (call == nullptr || call->life.ended() || call->id == 0) return 0;
  EBB_FIND(connection, core_.backends->find(call->connection), 0);
  return connection.h2->codec.held(call->id);
}

base::Backlog H2Backends::backlog(Handle end) {
  const BackendStream* call = calls_.find(end);
  if (call == nullptr || call->life.ended() || call->id == 0) return {};
  EBB_FIND(connection, core_.backends->find(call->connection), {});
  const base::Backlog left = connection.h2->codec.backlog(call->id);
  const base::Instant moved = std::max(left.moved, call->waits_since);
  // As in H2Clients::backlog.
  const base::Backlog of_all = left.bytes > 0 ? core_.backends->backlog(connection.self) : base::Backlog{};
  return {left.bytes, of_all.bytes > 0 ? std::max(moved, of_all.moved) : moved};
}

void H2Backends::receive(Handle end, Receive mode) {
  EBB_FIND(call, calls_.find(end));
  if (mode == Receive::paused || call.unconsumed == 0) return;
  EBB_FIND(connection, core_.backends->find(call.connection));
  connection.h2->codec.consumed(call.id, std::exchange(call.unconsumed, 0));
  schedule(connection);
}

bool H2Backends::has_deadline(Handle end) {
  const BackendStream* call = calls_.find(end);
  if (call == nullptr) return false;
  EBB_FIND(connection, core_.backends->find(call->connection), false);
  return connection.timer.armed();
}

Handle H2Backends::connection_of(Handle end) const {
  const BackendStream* call = calls_.find(end);
  return call == nullptr ? Handle{} : call->connection;
}

bool H2Backends::unanswered(Handle end) { return core_.backends->unanswered(connection_of(end)); }

void H2Backends::release(Handle end, bool keep) {
  EBB_FIND(call, calls_.find(end));
  EBB_FIND(connection, core_.backends->find(call.connection));
  // A stream whose request was cut short by an early answer must not stay half open, nor that of an extended CONNECT
  // which was refused: nothing else ends its request.
  if (!keep) {
    connection.h2->codec.reset(call.id, Cause::cancelled);
  } else if (!call.upgrade_key.empty()) {
    connection.h2->codec.finish(call.id, {});
  }
  schedule(connection);
  forget(call);
}

void H2Backends::cancel(Handle end, Cause cause) {
  BackendStream* call = calls_.find(end);
  if (call == nullptr || call->life.ended()) return;
  EBB_FIND(connection, core_.backends->find(call->connection));
  if (call->id != 0) {
    connection.h2->codec.reset(call->id, cause == Cause::completed ? Cause::cancelled : cause);
    schedule(connection);
  }
  forget(*call);
}

bool H2Backends::hand_over(Handle end, Handle exchange) {
  BackendStream* call = calls_.find(end);
  if (call == nullptr || call->life.ended()) return false;
  call->exchange = exchange;
  return true;
}

void H2Backends::become_tunnel(Handle end) {
  EBB_FIND(call, calls_.find(end));
  step(call, Event::upgraded);
}

void H2Backends::finish(Handle end) {
  EBB_FIND(call, calls_.find(end));
  if (!call.life.is(StreamState::finished)) step(call, Event::finished);
  EBB_FIND(connection, core_.backends->find(call.connection));
  connection.h2->codec.finish(call.id, {});
  schedule(connection);
}

void H2Backends::close_tunnel(Handle end, Cause cause) {
  EBB_FIND(call, calls_.find(end));
  if (cause == Cause::tunnel_closed) {
    finish(end);
  } else if (call.life.is(StreamState::finished) && cause == Cause::drain_deadline) {
    EBB_FIND(connection, core_.backends->find(call.connection));
    connection.h2->codec.reset(call.id, Cause::completed);  // behind what is still to be sent
  } else {
    return cancel(end, cause);
  }
  forget(call);
}

void H2Backends::on_response(H2BackendSession& session, Handle handle, const wire::ResponseHead& head) {
  EBB_FIND(call, calls_.find(handle));
  session.touched.push_back(handle);
  core_.response_path->on_heard(call.exchange);
  const bool switching = head.status == 200 && !call.upgrade_key.empty();
  const bool whole = !head.interim() && head.framing == wire::Framing::none;  // of a tunnel: its half has ended
  core_.response_path->on_head(call.exchange, switching ? as_switching(call, head) : head);
  if (whole && !call.life.ended()) end_response(call, {});
}

void H2Backends::end_response(const BackendStream& call, std::string_view trailers) {
  if (lifecycle::BackendStreamLife::tunnels(call.life.state())) {
    return core_.tunnel->on_backend_finished(call.exchange);
  }
  core_.response_path->on_whole(call.exchange, trailers);
}

// 200 to an extended CONNECT says what 101 says to an upgrade (RFC 8441 section 5).
const wire::ResponseHead& H2Backends::as_switching(const BackendStream& call, const wire::ResponseHead& head) {
  wire::ResponseHead& response = core_.response;
  response = head;
  response.status = 101;
  response.reason = wire::reason_phrase(101);
  response.framing = wire::Framing::none;
  response.has_length = false;
  response.upgrade = "websocket";
  const auto accept = wire::websocket_accept(call.upgrade_key);
  text_.assign(accept.data(), accept.size());
  response.fields.add({"Sec-WebSocket-Accept", text_});
  return response;
}

void H2Backends::on_payload(H2BackendSession& session, Handle handle, Slice bytes) {
  EBB_FIND(call, calls_.find(handle));
  call.unconsumed += bytes.size();
  session.touched.push_back(handle);
  core_.response_path->on_heard(call.exchange);
  if (lifecycle::BackendStreamLife::tunnels(call.life.state())) {
    return core_.tunnel->on_backend_bytes(call.exchange, std::move(bytes));
  }
  core_.response_path->on_payload(call.exchange, bytes, 0, bytes.size());
}

void H2Backends::on_whole(Handle handle, std::string_view trailers) {
  EBB_FIND(call, calls_.find(handle));
  end_response(call, trailers);
}

// Why the connection takes no more streams is no answer to a request that it passed over (GOAWAY).
void H2Backends::on_stream_failed(Handle handle, Cause cause, bool unprocessed) {
  EBB_FIND(call, calls_.find(handle));
  const Handle exchange = call.exchange;
  forget(call);
  if (unprocessed)
    return core_.attempts->on_backend_failed(exchange, Cause::backend_refused_stream, Delivery::unprocessed);
  core_.attempts->on_backend_failed(exchange, cause);
}

void H2Backends::on_stream_drained(Handle handle) {
  EBB_FIND(call, calls_.find(handle));
  core_.request_path->on_backend_drained(call.exchange);
}

void H2Backends::forget(BackendStream& call) {
  if (!call.life.ended()) step(call, Event::ended);
}

// Nothing runs on it: it may close, if it has lived long enough or is no longer wanted.
void H2Backends::rest(BackendConnection& connection) {
  connection.h2->idle_since = core_.reactor.now();
  if (serves(connection)) arm(connection);
  schedule(connection);
}

void H2Backends::arm(BackendConnection& connection) {
  const H2BackendSession& session = *connection.h2;
  base::Instant next = session.silence.next_look(silence_limits);
  if (session.busy() == 0) next = std::min(next, session.idle_since + connection.idle_time);
  core_.reactor.timers().arm(connection.timer, std::max(next, core_.reactor.now()));
}

void H2Backends::on_timer(BackendConnection& connection) {
  H2BackendSession& session = *connection.h2;
  const base::Instant now = core_.reactor.now();
  if (!serves(connection)) {
    if (session.busy() > 0 && core_.backends->may_take_longer(connection)) return;
    return core_.backends->close(connection.self, Cause::backend_connect_timeout);
  }
  if (session.busy() == 0 && now - session.idle_since >= connection.idle_time) {
    return core_.backends->close(connection.self, Cause::backend_idle_timeout, CloseMode::flush);
  }
  if (now - session.opened >= connection.max_age) session.retire(Cause::backend_max_age);
  switch (session.silence.look(now, silence_limits)) {
    case lifecycle::Silence::Sign::dead: return ping_unanswered(connection);
    case lifecycle::Silence::Sign::ask:
      session.codec.ping();
      schedule(connection);
      break;
    case lifecycle::Silence::Sign::alive: break;
  }
  arm(connection);
}

// Where its kernel has got the PING the process is busy or hangs: the work that it has must not end by that.
void H2Backends::ping_unanswered(BackendConnection& connection) {
  H2BackendSession& session = *connection.h2;
  EBB_FIND(endpoint, core_.endpoints->find(connection.endpoint),
           core_.backends->close(connection.self, Cause::internal));
  const routes::EvidenceModel& evidence = core_.endpoints->view(endpoint.view).evidence;
  const bool first = !session.silence.told();
  session.silence.wait_on(core_.reactor.now());
  const bool acknowledged = core_.backends->acknowledges(connection);
  if (evidence.silence.on) {
    session.retire(Cause::backend_ping_timeout);
    core_.health->ping_unanswered(connection, first && acknowledged);
  }
  const bool kept = !evidence.retransmission.on || acknowledged;
  if (session.busy() > 0 && kept) return arm(connection);
  core_.backends->close(connection.self, Cause::backend_ping_timeout);
}

void H2Backends::on_closed(BackendConnection& connection, Cause cause) {
  H2BackendSession& session = *connection.h2;
  if (LiveEndpoint* endpoint = core_.endpoints->find(connection.endpoint)) {
    std::erase(endpoint->multiplexed, connection.self);
  }
  std::vector<Handle> all = session.waiting;
  for (const auto& [id, handle] : session.streams) all.push_back(handle);
  for (const Handle handle : all) {
    BackendStream* call = calls_.find(handle);
    if (call == nullptr || call->life.ended()) continue;
    const Handle exchange = call->exchange;
    const Delivery delivery = lifecycle::delivery(connection.delivered, call->begins_at);
    forget(*call);
    core_.attempts->on_backend_failed(exchange, cause, delivery);
  }
}

void H2Backends::retire(LiveEndpoint& endpoint, Cause cause) {
  const std::vector<Handle> all = endpoint.multiplexed;
  for (const Handle handle : all) {
    const BackendConnection* connection = core_.backends->find(handle);
    if (connection == nullptr) continue;
    connection->h2->retire(cause);
    if (connection->h2->busy() == 0) core_.backends->close(handle, cause, CloseMode::flush);
  }
}

void H2Backends::schedule(BackendConnection& connection) {
  if (std::exchange(connection.h2->scheduled, true)) return;
  scheduled_.push_back(connection.self);
}

void H2Backends::send_now(BackendConnection& connection) {
  connection.h2->scheduled = false;
  send_frames(
      core_, connection.h2->codec, [&] { return connection.unsent(core_.reactor); },
      [&](Chain&& out) { core_.backends->send(connection, std::move(out)); });
}

bool H2Backends::send_scheduled() {
  if (scheduled_.empty()) return false;
  while (!scheduled_.empty()) {
    std::vector<Handle> turn;
    turn.swap(scheduled_);
    for (const Handle handle : turn) {
      BackendConnection* connection = core_.backends->find(handle);
      if (connection == nullptr || connection->life.ended()) continue;
      const bool established = serves(*connection) || connection->life.is(BackendState::leased);
      if (!established) {
        connection->h2->scheduled = false;
        continue;
      }
      send_now(*connection);
      const std::optional<Cause> retired = connection->h2->retired;
      if (retired && connection->h2->busy() == 0) core_.backends->close(handle, *retired, CloseMode::flush);
    }
  }
  return true;
}

bool H2Backends::end_broken() {
  const std::vector<Handle> all = broken_.take();
  for (const Handle handle : all) {
    const BackendStream* call = calls_.find(handle);
    if (call == nullptr || call->life.ended()) continue;
    const Handle exchange = call->exchange;
    cancel(handle, Cause::internal);
    core_.attempts->on_backend_failed(exchange, Cause::internal, Delivery::unknown);
  }
  return !all.empty();
}

void H2Backends::bury() {
  for (const Handle handle : dead_) calls_.erase(handle);
  dead_.clear();
}

}  // namespace ebb::gate
