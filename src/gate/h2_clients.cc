#include "gate/h2_clients.h"

#include <algorithm>
#include <limits>

#include "gate/exchanges.h"
#include "gate/intake.h"
#include "gate/own_answer.h"
#include "gate/payload.h"
#include "gate/records.h"
#include "gate/request_path.h"
#include "gate/response_path.h"
#include "gate/tunnel.h"
#include "routes/normalise.h"
#include "wire/h1_field.h"
#include "wire/websocket.h"

namespace ebb::gate {

using base::Cause;
using base::Chain;
using base::Handle;
using base::Slice;
using State = lifecycle::ClientConnectionLife::State;
using StreamState = lifecycle::ClientStreamLife::State;
using reactor::CloseMode;
using reactor::Receive;
using wire::H2Session;
using wire::StreamId;

namespace {

// Of one stream among many: a thousand that stall must not hold more than a few pieces each.
constexpr std::size_t stream_high_water = base::BlockPool::body_size;
// Of an extended CONNECT that is not answered: however little is left, a first message has room.
constexpr std::size_t early_held_min = std::size_t{32} << 10;
constexpr std::size_t waiting_heads_max = std::size_t{256} << 10;  // of responses, behind a full socket
// Of requests that run: however little is left, a client may have a few.
constexpr std::size_t heads_held_min = std::size_t{64} << 10;
constexpr std::size_t scarce_share = std::size_t{128} << 10;  // of a client: two bodies of the largest size

}  // namespace

void H2ClientSession::on_request(StreamId stream, const wire::RequestHead& head) {
  owner_.on_request(client_, stream, head);
}
void H2ClientSession::on_request_refused(StreamId stream, Cause cause, const char* why) {
  owner_.on_request_refused(client_, stream, cause, why);
}
void H2ClientSession::on_payload(StreamId stream, Slice bytes) {
  // When its exchange is over, the connection's window must not shrink by it.
  const Handle half = half_of(streams, stream);
  if (!half) return codec.consumed(stream, bytes.size());
  owner_.on_payload(half, std::move(bytes));
}
void H2ClientSession::on_whole(StreamId stream, std::string_view trailers) {
  if (const Handle half = half_of(streams, stream)) owner_.on_whole(half, trailers);
}
void H2ClientSession::on_stream_failed(StreamId stream, Cause cause, bool) {
  if (const Handle half = half_of(streams, stream)) owner_.on_stream_failed(half, cause);
}
void H2ClientSession::on_stream_drained(StreamId stream) {
  if (const Handle half = half_of(streams, stream)) owner_.on_stream_drained(half);
}

// A stream that is over is of no use to anybody from here on.
void H2Clients::step(ClientStream& stream, Event event) {
  if (!stream.life.step(event)) return broken_.add(core_, stream.self);
  if (!stream.life.ended()) return;
  dead_.push_back(stream.self);
  EBB_FIND(session, session_of(stream));
  session.streams.erase(stream.id);
}

void H2Clients::begin(ClientConnection& client) {
  wire::H2Limits limits;
  limits.head = core_.head_limits();
  client.h2 = std::make_unique<H2ClientSession>(*this, client.self, limits, core_.reactor.blocks());
  schedule(client);  // our SETTINGS
}

void H2Clients::on_received(ClientConnection& client, Slice bytes) {
  H2ClientSession& session = *client.h2;
  const H2Session::Status status = session.codec.receive(bytes, core_.reactor.now());
  for (std::size_t i = 0; i < touched_.size(); ++i) {
    if (ClientStream* stream = streams_.find(touched_[i]); stream != nullptr) pass_on(*stream);
  }
  touched_.clear();
  if (client.life.ended()) return;
  if (status == H2Session::Status::failed) {
    send_now(client);
    if (client.life.ended()) return;
    end_streams(client, session.codec.cause());
    // Its frames may still be on their way to us; a close before them would be a reset, and might destroy our GOAWAY.
    return core_.clients->part(client, session.codec.cause());
  }
  if (session.codec.has_output() || session.client_leaves) schedule(client);
}

void H2Clients::on_request(Handle client_handle, StreamId id, const wire::RequestHead& head) {
  EBB_FIND(client, core_.clients->find(client_handle));
  if (client.life.ended()) return;  // by what was before it in the same bytes
  if (holds_too_many_heads(*client.h2)) return refuse_stream(client, id, head);
  ClientStream& stream = add_stream(client, id);
  if (head.framing == wire::Framing::none) step(stream, Event::request_whole);
  if (!head.upgrade.empty()) stream.use = Use::handshake;
  if (client.secure != nullptr && misdirected(client, head.authority)) {
    const std::size_t sent =
        answer(stream.self, own_answer(Cause::client_misdirected, head.method, stream.request_whole()));
    return core_.records->refused(client, Cause::client_misdirected, &head, sent);
  }
  client.timer.disarm();
  core_.clients->has_work(client);
  client.h2->exchanges += 1;
  const Handle exchange =
      core_.intake->begin(*this, stream.self, client, stream.use == Use::handshake ? as_upgrade(head) : head);
  stream.exchange = exchange;
  stream.head_held = core_.exchanges->find(exchange)->head_memory();
  client.h2->heads_held += stream.head_held;
  core_.intake->start(exchange);
}

// A head that HPACK has packed into a few bytes takes as much memory as any other.
bool H2Clients::holds_too_many_heads(const H2ClientSession& session) const {
  const std::size_t held = session.heads_held + session.codec.heads_held();
  return held > heads_held_min && held > core_.reactor.blocks().share();
}

// Nothing was done for it: the client may ask again, here when others are answered, or elsewhere (RFC 9113 8.7).
void H2Clients::refuse_stream(ClientConnection& client, StreamId id, const wire::RequestHead& head) {
  client.h2->codec.reset(id, Cause::buffer_limit, true);
  schedule(client);
  core_.records->refused(client, Cause::buffer_limit, &head, 0);
}

ClientStream& H2Clients::add_stream(ClientConnection& client, StreamId id) {
  const Handle self = streams_.emplace();
  ClientStream& stream = *streams_.find(self);
  stream.self = self;
  stream.client = client.self;
  stream.id = id;
  client.h2->streams.emplace(id, self);
  return stream;
}

// Browsers send requests for every name of a certificate over one connection (RFC 9113 9.1.1). One whose name the
// certificate of this connection does not cover came here by mistake: 421 makes the client open another. So did one
// whose name is passed through, though the certificate covers it: its backend is behind a connection of its own. A
// client that asked for no name takes any.
bool H2Clients::misdirected(const ClientConnection& client, std::string_view authority) const {
  if (client.secure->session.server_name().empty()) return false;
  routes::HostBuffer buffer;
  const std::string_view host = routes::normalise_host(authority, buffer);
  if (!client.secure->session.serves(host)) return true;
  const routes::Snapshot& snapshot = core_.current->snapshot();
  return snapshot.passes_tls_through() && snapshot.match_server_name(host, client.listener->model.name) != nullptr;
}

// An extended CONNECT (RFC 8441) as the upgrade of HTTP/1 that it stands for.
const wire::RequestHead& H2Clients::as_upgrade(const wire::RequestHead& head) {
  wire::RequestHead& request = core_.request;
  request = head;
  request.method = wire::Method::get;
  request.method_text = "GET";
  request.framing = wire::Framing::none;
  const auto key = wire::websocket_key(core_.random.next(), core_.random.next());
  text_.assign(key.data(), key.size());
  // RFC 8441 5: it has no meaning in HTTP/2, and the endpoint must not see two.
  for (wire::Field& field : request.fields.all()) {
    field.hop = field.hop || wire::reads_as(field.name, "sec-websocket-key");
  }
  request.fields.add({"Sec-WebSocket-Key", text_});
  return request;
}

void H2Clients::on_request_refused(Handle client_handle, StreamId id, Cause cause, const char* why) {
  EBB_FIND(client, core_.clients->find(client_handle));
  if (client.life.ended()) return;
  ClientStream& stream = add_stream(client, id);
  step(stream, Event::request_whole);  // the codec tells nothing more of it
  OwnAnswer refusal = own_answer(cause, wire::Method::other, false);
  refusal.words = why;
  const std::size_t sent = answer(stream.self, refusal);
  core_.records->refused(client, cause, nullptr, sent);
}

void H2Clients::on_payload(Handle handle, Slice bytes) {
  EBB_FIND(stream, streams_.find(handle));
  if (stream.life.is(StreamState::discarding)) return discard(stream, bytes.size());
  stream.unconsumed += bytes.size();
  if (stream.use != Use::request) {
    append_payload(core_.reactor.blocks(), stream.early, bytes, 0, bytes.size(), false);
    if (stream.use == Use::tunnel) return touch(stream);
    return limit_early(stream);
  }
  if (!stream.exchange) return;
  if (H2ClientSession* session = session_of(stream)) session->body_came = core_.reactor.now();
  core_.request_path->on_payload(stream.exchange, bytes, 0, bytes.size());
  touch(stream);
}

// A client waits for the 200 before it uses the tunnel (RFC 8441 section 5). What it sends before that is kept as long
// as its share lasts.
void H2Clients::limit_early(ClientStream& stream) {
  const std::size_t held = stream.early.held();
  if (held <= early_held_min || !stream.exchange) return;
  EBB_FIND(client, core_.clients->find(stream.client));
  if (held <= core_.reactor.blocks().share() / std::max<std::size_t>(client.h2->exchanges, 1)) return;
  core_.exchanges->on_client_left(stream.exchange, Cause::buffer_limit);
  cut(stream.self, Cause::buffer_limit);
}

// Memory of what came for tunnels that are not there yet.
std::size_t H2Clients::early_memory(const ClientConnection& client) const {
  std::size_t bytes = 0;
  for (const auto& [id, handle] : client.h2->streams) {
    if (const ClientStream* stream = streams_.find(handle); stream != nullptr) bytes += stream->early.held();
  }
  return bytes;
}

// Frames may be as small as a byte: what came with one receive goes on together.
void H2Clients::touch(ClientStream& stream) {
  if (std::exchange(stream.touched, true)) return;
  touched_.push_back(stream.self);
}

void H2Clients::pass_on(ClientStream& stream) {
  stream.touched = false;
  if (stream.use != Use::tunnel) {
    if (stream.exchange && !stream.life.ended()) core_.request_path->on_moved(stream.exchange);
    return;
  }
  const Handle self = stream.self;
  Chain bytes = std::move(stream.early);
  while (!bytes.empty()) {
    const ClientStream* still = streams_.find(self);
    if (still == nullptr || still->life.ended() || !still->exchange) return;
    core_.tunnel->on_client_bytes(still->exchange, bytes.pop_front());
  }
}

void H2Clients::on_whole(Handle handle, std::string_view trailers) {
  EBB_FIND(stream, streams_.find(handle));
  step(stream, Event::request_whole);
  if (stream.life.ended()) return;  // nobody was interested any more
  if (stream.use == Use::tunnel) {
    pass_on(stream);
    if (const ClientStream* still = streams_.find(handle); still != nullptr && still->exchange) {
      core_.exchanges->on_client_finished(still->exchange, true);
    }
    return;
  }
  if (stream.exchange && stream.use == Use::request) core_.request_path->on_whole(stream.exchange, trailers);
}

// The response came before the whole request (RFC 9113 8.1). Some clients lose it when RST_STREAM comes while they
// still send, so that a request that is nearly over is let end; from a longer one the client must be kept.
void H2Clients::discard(ClientStream& stream, std::size_t bytes) {
  constexpr std::size_t discard_bytes_max = std::size_t{1} << 20;
  EBB_FIND(client, core_.clients->find(stream.client));
  stream.discarded += bytes;
  schedule(client);
  const bool patient = stream.discarded <= discard_bytes_max && client.h2->farewell == Farewell::none;
  if (patient) return client.h2->codec.consumed(stream.id, bytes);
  client.h2->codec.reset(stream.id, Cause::completed);  // behind what is still to be sent
  forget(stream);
}

void H2Clients::on_stream_failed(Handle handle, Cause cause) {
  EBB_FIND(stream, streams_.find(handle));
  const Handle exchange = stream.exchange;
  if (exchange) core_.exchanges->on_client_left(exchange, cause);
  detach(stream);
  forget(stream);
}

void H2Clients::on_stream_drained(Handle handle) {
  EBB_FIND(stream, streams_.find(handle));
  if (stream.exchange) core_.response_path->on_client_drained(stream.exchange);
}

H2ClientSession* H2Clients::session_of(const ClientStream& stream) {
  const ClientConnection* client = core_.clients->find(stream.client);
  return client == nullptr ? nullptr : client->h2.get();
}

ClientConnection* H2Clients::connection(Handle end) {
  const ClientStream* stream = streams_.find(end);
  return stream == nullptr ? nullptr : core_.clients->find(stream->client);
}

void H2Clients::add_head(Handle end, const wire::ResponseHead& head, bool, Chain&) {
  EBB_FIND(stream, streams_.find(end));
  const bool empty = head.framing == wire::Framing::length && head.content_length == 0;
  const bool complete = !head.interim() && head.status != 101 && (head.framing == wire::Framing::none || empty);
  if (complete) step(stream, Event::response_whole);
  stream.counted = head.framing != wire::Framing::chunked;
  EBB_FIND(session, session_of(stream));
  session.codec.respond(stream.id, head, complete);
}

// They cannot come instead of a body whose length is known.
bool H2Clients::takes_trailers(Handle end) {
  const ClientStream* stream = streams_.find(end);
  return stream != nullptr && !stream->counted && !stream->response_whole();
}

void H2Clients::add_payload(Handle, const Slice& source, std::uint32_t at, std::uint32_t size, Chain& out) {
  append_payload(core_.reactor.blocks(), out, source, at, size, false);
}

void H2Clients::send_end(Handle end, std::string_view trailers, Chain&& out) {
  EBB_FIND(stream, streams_.find(end));
  EBB_FIND(client, core_.clients->find(stream.client));
  H2Session& codec = client.h2->codec;
  if (!out.empty()) give(stream, codec, std::move(out));
  if (!stream.response_whole()) {
    codec.finish(stream.id, trailers);
    step(stream, Event::response_whole);
  }
  if (codec.unsent(stream.id) > stream_high_water) send_now(client);
  schedule(client);
}

void H2Clients::give(ClientStream& stream, H2Session& codec, Chain&& payload) {
  if (codec.send(stream.id, std::move(payload))) stream.waits_since = core_.reactor.now();
}

void H2Clients::flush(Handle end, Chain&& out) {
  EBB_FIND(stream, streams_.find(end));
  EBB_FIND(client, core_.clients->find(stream.client));
  if (!out.empty()) give(stream, client.h2->codec, std::move(out));
  // Small pieces leave together at the end of the round; for a large one the caller wants to know now what is stuck.
  if (client.h2->codec.unsent(stream.id) > stream_high_water) send_now(client);
  schedule(client);
}

std::size_t H2Clients::answer(Handle end, const OwnAnswer& answer) {
  EBB_FIND(stream, streams_.find(end), 0);
  if (stream.life.ended()) return 0;
  EBB_FIND(client, core_.clients->find(stream.client), 0);
  if (client.life.ended()) return 0;
  // To read a path in every way costs us more than it costs its sender, who needs a byte for it (HPACK).
  if (answer.cause == Cause::client_path_ambiguous) client.h2->codec.charge_fault();
  const std::size_t bytes = respond_own(client.h2->codec, stream.id, answer);
  step(stream, Event::response_whole);
  release(end, stream.request_whole());
  return bytes;
}

std::size_t H2Clients::respond_own(H2Session& codec, StreamId id, const OwnAnswer& answer) {
  const routes::Model& model = core_.current->model();
  // Each stream that the client does not read holds a body. Where little is left, a line of text has to do.
  const bool scarce = core_.reactor.blocks().share() < scarce_share;
  OwnAnswer told = answer;
  if (scarce) told.body = nullptr;
  const std::span<const routes::ErrorBodyModel> errors =
      scarce ? std::span<const routes::ErrorBodyModel>{} : std::span(model.errors);
  const std::string_view body = write_own_message(told, errors, core_.response, text_, model.cause_header);
  codec.respond(id, core_.response, body.empty());
  if (body.empty()) return 0;
  Chain out;
  out.push(core_.reactor.blocks().copy(body));
  codec.send(id, std::move(out));
  codec.finish(id, {});
  return body.size();
}

std::size_t H2Clients::unsent(Handle end) {
  const ClientStream* stream = streams_.find(end);
  if (stream == nullptr || stream->life.ended()) return 0;
  EBB_FIND(session, session_of(*stream), 0);
  return session.codec.unsent(stream->id);
}

std::size_t H2Clients::sharing(Handle end) {
  const ClientStream* stream = streams_.find(end);
  if (stream == nullptr) return 1;
  EBB_FIND(session, session_of(*stream), 1);
  return std::max<std::size_t>(session.exchanges, 1);
}

// Only what could not leave is stuck, and drains: so what can leave does so first.
bool H2Clients::stuck(Handle end, std::size_t share) {
  const ClientStream* stream = streams_.find(end);
  if (stream == nullptr || stream->life.ended()) return false;
  EBB_FIND(client, core_.clients->find(stream->client), false);
  const H2Session& codec = client.h2->codec;
  const auto too_much = [&codec, id = stream->id, share] {
    return codec.unsent(id) > stream_high_water || waits_too_much(0, codec.held(id), share);
  };
  if (!too_much()) return false;
  send_now(client);
  schedule(client);
  return too_much();
}

// A stream that waits for its turn on a slow connection moves when the connection does: the client reads.
base::Backlog H2Clients::backlog(Handle end) {
  const ClientStream* stream = streams_.find(end);
  if (stream == nullptr || stream->life.ended()) return {};
  EBB_FIND(client, core_.clients->find(stream->client), {});
  const base::Backlog left = client.h2->codec.backlog(stream->id);
  const base::Instant moved = std::max(left.moved, stream->waits_since);
  const base::Backlog of_all = left.bytes > 0 ? client.backlog(core_.reactor) : base::Backlog{};
  return {left.bytes, of_all.bytes > 0 ? std::max(moved, of_all.moved) : moved};
}

// Bytes stay with the client when their window is not opened again.
void H2Clients::receive(Handle end, Receive mode) {
  EBB_FIND(stream, streams_.find(end));
  if (mode == Receive::paused || stream.unconsumed == 0) return;
  EBB_FIND(client, core_.clients->find(stream.client));
  client.h2->codec.consumed(stream.id, std::exchange(stream.unconsumed, 0));
  schedule(client);
}

void H2Clients::release(Handle end, bool) {
  EBB_FIND(stream, streams_.find(end));
  detach(stream);
  if (stream.life.ended()) return;
  EBB_FIND(client, core_.clients->find(stream.client));
  schedule(client);
  step(stream, Event::released);
  if (!stream.life.ended()) discard(stream, std::exchange(stream.unconsumed, 0));
}

void H2Clients::cut(Handle end, Cause cause) {
  EBB_FIND(stream, streams_.find(end));
  detach(stream);
  if (stream.life.ended()) return;
  EBB_FIND(client, core_.clients->find(stream.client));
  client.h2->codec.reset(stream.id, cause);
  schedule(client);
  forget(stream);
}

void H2Clients::become_tunnel(Handle end) {
  EBB_FIND(stream, streams_.find(end));
  stream.use = Use::tunnel;
}

Chain H2Clients::early_bytes(Handle end) {
  EBB_FIND(stream, streams_.find(end), {});
  return std::move(stream.early);
}

// A client may send its bodies one after the other.
base::Instant H2Clients::body_came(Handle end) {
  const ClientStream* stream = streams_.find(end);
  if (stream == nullptr) return {};
  EBB_FIND(session, session_of(*stream), {});
  return session.body_came;
}

// A client that is gone sends no more.
bool H2Clients::finished(Handle end) {
  EBB_FIND(stream, streams_.find(end), true);
  return stream.request_whole() || stream.life.ended();
}

void H2Clients::finish(Handle end) {
  EBB_FIND(stream, streams_.find(end));
  EBB_FIND(client, core_.clients->find(stream.client));
  client.h2->codec.finish(stream.id, {});
  if (!stream.response_whole()) step(stream, Event::response_whole);
  schedule(client);
}

void H2Clients::close_tunnel(Handle end, Cause cause) {
  EBB_FIND(stream, streams_.find(end));
  const bool both_ended = stream.request_whole() && cause == Cause::tunnel_closed;
  if (!both_ended)
    return cut(end, stream.response_whole() ? Cause::completed : cause);  // behind what is still to be sent
  if (!stream.response_whole()) finish(end);
  release(end, true);
}

void H2Clients::detach(ClientStream& stream) {
  if (!stream.exchange) return;
  stream.exchange = {};
  stream.early.clear();
  EBB_FIND(client, core_.clients->find(stream.client));
  client.h2->exchanges -= 1;
  client.h2->heads_held -= std::exchange(stream.head_held, 0);
  if (client.h2->exchanges > 0 || client.life.ended()) return;
  rest(client);
  client.answer_waits = true;  // its last frames leave when the round ends
  client.h2->answers_held = std::numeric_limits<std::size_t>::max();
  core_.clients->begins_to_wait(client);
}

void H2Clients::forget(ClientStream& stream) {
  if (!stream.life.ended()) step(stream, Event::ended);
}

// No exchange has a deadline any more, so the connection needs one.
void H2Clients::rest(ClientConnection& client) {
  const base::Duration quiet = client.h2->farewell == Farewell::none ? core_.timeouts().client_idle : linger_time;
  core_.clients->arm_after_exchange(client, quiet);
}

void H2Clients::schedule(ClientConnection& client) {
  if (std::exchange(client.h2->scheduled, true)) return;
  scheduled_.push_back(client.self);
}

void H2Clients::send_now(ClientConnection& client) {
  client.h2->scheduled = false;
  send_frames(
      core_, client.h2->codec, [&] { return client.unsent(core_.reactor); },
      [&](Chain&& out) { core_.clients->send(client, std::move(out)); });
  note_backlog(client);
}

// Heads obey no window: only by not reading from it can a client be kept from asking for more of them. That it has
// reset their streams does not take them out of the queue. While exchanges run they have deadlines for what waits on
// their streams, but nobody has one for what waits in the socket.
void H2Clients::note_backlog(ClientConnection& client) {
  H2ClientSession& session = *client.h2;
  if (client.life.ended()) return;
  const std::size_t heads = session.codec.heads_held();
  session.charge.set(heads + session.codec.control_held());
  const base::Backlog waits = client.backlog(core_.reactor);
  const bool full = heads > waiting_heads_max && waits.bytes >= output_high_water && client.held() == 0;
  if (full != std::exchange(session.paused, full)) {
    core_.reactor.receive(client.socket, full ? Receive::paused : Receive::watchful);
  }
  if (session.exchanges == 0 || waits.bytes == 0 || client.timer.armed()) return;
  core_.reactor.timers().arm(client.timer, waits.moved + core_.timeouts().client_write);
}

bool H2Clients::send_scheduled() {
  if (scheduled_.empty()) return false;
  while (!scheduled_.empty()) {
    std::vector<Handle> turn;
    turn.swap(scheduled_);
    for (const Handle handle : turn) {
      ClientConnection* client = core_.clients->find(handle);
      if (client == nullptr || !client->life.is(State::multiplexing)) continue;
      send_now(*client);
      H2ClientSession& session = *client->h2;
      // Frames may still be on their way to us, and a close before them would be a reset.
      if (session.outlived() && session.exchanges == 0 && session.codec.streams() == 0) {
        core_.clients->part(*client, session.farewell == Farewell::none ? Cause::client_closed : Cause::shutdown);
      }
    }
  }
  return true;
}

// Acknowledgements of PING and SETTINGS leave by the same way as answers. They prolong nothing: a client could be idle
// forever.
void H2Clients::on_drained(ClientConnection& client) {
  if (client.h2->exchanges == 0 && client.answer_waits) {
    const std::size_t held = client.h2->codec.held();
    if (held < std::exchange(client.h2->answers_held, held)) rest(client);
    client.answer_waits = held > 0;
  }
  schedule(client);
}

void H2Clients::on_timer(ClientConnection& client) {
  if (core_.clients->still_reads(client)) return;
  const bool stuck = client.unsent(core_.reactor) > 0;
  if (stuck) return core_.clients->close(client.self, Cause::client_write_timeout, CloseMode::reset);
  if (client.h2->exchanges > 0) return;
  end_idle(client, client.h2->farewell == Farewell::none ? Cause::client_idle_timeout : Cause::shutdown);
}

void H2Clients::end_idle(ClientConnection& client, Cause cause) {
  if (client.h2->farewell == Farewell::none) client.h2->codec.go_away(cause);
  client.h2->codec.go_away(cause);
  send_now(client);
  if (client.life.ended()) return;
  // A connection beyond the budget makes room at once.
  if (cause == Cause::client_idle_budget) return core_.clients->close(client.self, cause, CloseMode::flush);
  end_streams(client, cause);
  // As behind any GOAWAY: what the client asks just now must not destroy it by a reset.
  core_.clients->part(client, cause);
}

void H2Clients::end_streams(ClientConnection& client, Cause cause) {
  std::vector<Handle> all;
  for (const auto& [id, handle] : client.h2->streams) all.push_back(handle);
  for (const Handle handle : all) {
    ClientStream* stream = streams_.find(handle);
    if (stream == nullptr || stream->life.ended()) continue;
    if (stream->exchange) core_.exchanges->on_client_left(stream->exchange, cause);
    stream->exchange = {};
    forget(*stream);
  }
}

bool H2Clients::end_broken() {
  const std::vector<Handle> all = broken_.take();
  for (const Handle handle : all) {
    const ClientStream* stream = streams_.find(handle);
    if (stream == nullptr || stream->life.ended()) continue;
    if (stream->exchange) core_.exchanges->on_client_left(stream->exchange, Cause::internal);
    cut(handle, Cause::internal);
  }
  return !all.empty();
}

void H2Clients::go_away(Cause cause) {
  core_.clients->for_each([this, cause](Handle, ClientConnection& client) {
    if (client.h2 == nullptr || !client.life.is(State::multiplexing)) return;
    if (client.h2->farewell != Farewell::none) return;
    client.h2->farewell = Farewell::warned;
    client.h2->codec.go_away(cause);
    client.h2->codec.ping();
    if (client.h2->exchanges == 0) rest(client);
    schedule(client);
  });
}

void H2Clients::bury() {
  for (const Handle handle : dead_) {
    const ClientStream* stream = streams_.find(handle);
    EBB_ASSERT(stream != nullptr && stream->life.ended() && !stream->exchange);
    streams_.erase(handle);
  }
  dead_.clear();
}

}  // namespace ebb::gate
