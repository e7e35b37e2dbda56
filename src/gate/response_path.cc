// The answer's way from the endpoint to the client: heads (1xx too), body framing, back-pressure, the honest end.
//
// Before: gate/request_path. Next: the client's connection waits for its next request (gate/clients), the endpoint's
// goes back to its pool (gate/backends).
#include "gate/compression.h"
#include "gate/endpoints.h"
#include "gate/exchanges.h"
#include "gate/gather.h"
#include "gate/h2_clients.h"
#include "gate/health.h"
#include "gate/witnesses.h"
#include "wire/h1_field.h"

namespace ebb::gate {

using base::Cause;
using base::Chain;
using base::Handle;
using base::Slice;
using reactor::Receive;
using wire::Framing;
using wire::Parsed;

namespace {

constexpr std::uint64_t interim_heads_max = 4;  // of the largest size, before one response

// RFC 9110 7.8: a server must not switch to a protocol that the client has not named.
bool names_only_offered(std::string_view protocols, std::string_view offer) {
  wire::ListWalk walk(protocols);
  for (std::string_view protocol; walk.next(protocol);) {
    if (!wire::list_has_token(offer, protocol)) return false;
  }
  return true;
}

}  // namespace

void Exchanges::note_first_byte(Exchange& exchange) {
  if (exchange.response_bytes) return;
  exchange.response_bytes = true;
  exchange.first_byte = core_.reactor.now();
  if (exchange.on_trial) end_trial(exchange);
  if (exchange.compared) note_comparison(exchange);
}

void Exchanges::on_response_bytes(Handle handle, Chain& input, Slice bytes) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr) return;
  exchange->heard = core_.reactor.now();
  if (exchange->life.is(State::tunnelling)) return on_tunnel_bytes_from_backend(*exchange, std::move(bytes));
  note_first_byte(*exchange);
  input.push(std::move(bytes));
  if (!response_has_begun(*exchange) && !read_response_heads(*exchange, input)) return;
  take_response_body(*exchange, input);
}

// False: nothing more to do now.
bool Exchanges::read_response_heads(Exchange& exchange, Chain& input) {
  const wire::HeadLimits limits = core_.head_limits();
  while (!input.empty()) {
    if (input.slices() > 1) gather(core_.reactor.blocks(), input, limits.head_bytes);
    const Parsed parsed = wire::parse_response(input.front().view(), limits, exchange.method, core_.response);
    if (parsed.status == Parsed::Status::incomplete) {
      gather(core_.reactor.blocks(), input, limits.head_bytes);
      break;
    }
    if (parsed.status == Parsed::Status::refused) {
      fail(exchange, Event::failed, Cause::backend_bad_response);
      return false;
    }
    // What lies behind the head must be in place before a tunnel takes it; the head's views end with these bytes.
    const Slice head_bytes = input.front();
    input.drop_front(parsed.consumed);
    const AfterHead after = take_response_head(exchange, core_.response);
    if (after == AfterHead::over) return false;
    if (after == AfterHead::body) return true;
  }
  flush(exchange);
  return false;
}

// The head with what the route changes about it; nullptr: it has no room for that.
const wire::ResponseHead* Exchanges::with_changes(Exchange& exchange, const wire::ResponseHead& received) {
  if (exchange.applied == nullptr || received.interim()) return &received;
  AppliedPolicy& applied = *exchange.applied;
  if (applied.sticky) give_cookie(exchange);
  const bool compress =
      applied.compression != nullptr && worth_compressing(*applied.compression, received) && may_compress(exchange);
  if (applied.response.empty() && !compress) return &received;
  wire::ResponseHead& changed = core_.response;
  if (&changed != &received) changed = received;
  if (compress) {
    begin_compression(exchange);
    if (!write_compressed_head(applied.coding, changed, applied.text)) return nullptr;
  }
  return applied.response.apply(changed.fields) ? &changed : nullptr;
}

// An encoder holds memory as long as its response lasts, and a client that does not read makes it last. One client may
// have half of what is left of the budget; a response beyond it goes out as it came.
bool Exchanges::may_compress(const Exchange& exchange) {
  const ClientConnection* client = exchange.front->connection(exchange.client);
  if (client == nullptr) return false;
  const std::size_t budget = core_.current->model().limits.encoders;
  const std::size_t left = budget - std::min(budget, core_.encoder_bytes);
  const std::size_t needed = wire::Encoder::memory(exchange.applied->coding);
  const bool fits = needed <= left && client->encoder_bytes + needed <= std::max(left / 2, needed);
  if (!fits) core_.counters.compressions_left_out += 1;
  return fits;
}

void Exchanges::begin_compression(Exchange& exchange) {
  const wire::ContentCoding coding = exchange.applied->coding;
  exchange.applied->encoder = wire::Encoder::make(coding);
  core_.encoder_bytes += wire::Encoder::memory(coding);
  ClientConnection* client = exchange.front->connection(exchange.client);
  if (client != nullptr) client->encoder_bytes += wire::Encoder::memory(coding);
}

void Exchanges::end_compression(Exchange& exchange) {
  const std::size_t memory = wire::Encoder::memory(exchange.applied->coding);
  exchange.applied->encoder.reset();
  core_.encoder_bytes -= memory;
  ClientConnection* client = exchange.front->connection(exchange.client);
  if (client != nullptr) client->encoder_bytes -= memory;
}

// Interim heads go on to the client as they come (RFC 9110 15.2); the final one begins the response.
// They go to the client as they come and nothing holds them back, so one that does not read would pile them up.
bool Exchanges::too_many_interim(Exchange& exchange, const wire::ResponseHead& head) const {
  if (!head.interim()) return false;
  exchange.interim_bytes += std::string_view("HTTP/1.1 103 \r\n\r\n").size() + head.reason.size();
  for (const wire::Field& field : head.fields.all()) {
    exchange.interim_bytes += field.name.size() + field.value.size() + std::string_view(": \r\n").size();
  }
  return exchange.interim_bytes > interim_heads_max * core_.head_limits().head_bytes;
}

Exchanges::AfterHead Exchanges::take_response_head(Exchange& exchange, const wire::ResponseHead& received) {
  const bool upgrade = received.status == 101;
  const bool unasked = upgrade && (!exchange.upgrade_asked || !exchange.request_whole ||
                                   !names_only_offered(received.upgrade, exchange.upgrade_offer));
  // To an extended CONNECT any 2xx would say that the tunnel is there (RFC 8441 section 5); an endpoint of HTTP/1 that
  // ignores Upgrade means something else by it.
  const bool no_tunnel = exchange.upgrade_asked && exchange.front == core_.h2_clients && received.status / 100 == 2;
  wire::BodyReader body(received.framing, received.content_length);  // as the endpoint sends it
  const bool until_close = received.framing == Framing::until_close;
  if (no_tunnel) {
    fail(exchange, Event::failed, Cause::backend_no_upgrade);
    return AfterHead::over;
  }
  const wire::ResponseHead* changed = with_changes(exchange, received);
  if (unasked || changed == nullptr || too_many_interim(exchange, received)) {
    fail(exchange, Event::failed, Cause::backend_bad_response);
    return AfterHead::over;
  }
  const wire::ResponseHead& head = *changed;
  if (!head.interim()) {
    step(exchange, Event::response_began);
    forget_request(exchange);
    exchange.status = head.status;
    exchange.response_body = std::move(body);
    exchange.keep_backend = head.keep_alive && !until_close;
    learn_from_answer(exchange, head);
  }
  exchange.front->add_head(exchange.client, head, exchange.request_whole, exchange.to_client);
  if (head.interim()) return AfterHead::more_heads;
  if (!upgrade) return AfterHead::body;
  become_tunnel(exchange, Event::upgraded);
  return AfterHead::over;
}

// Another endpoint has answered it as soon as requests of its kind are: that it was slow is no excuse for the first
// one.
void Exchanges::note_comparison(Exchange& exchange) {
  const Handle compared = std::exchange(exchange.compared, {});
  if (exchange.first_byte - exchange.try_began <= exchange.trial.time)
    core_.health->trial_failed(compared, exchange.trial);
}

void Exchanges::learn_from_answer(const Exchange& exchange, const wire::ResponseHead& head) {
  EBB_FIND(endpoint, core_.endpoints->find(exchange.endpoint));
  if (head.idle_seconds > 0) endpoint.idle_limit.announced(std::chrono::seconds{head.idle_seconds});
  const base::Instant asked = std::max(exchange.handed_over, exchange.asked);
  core_.health->answered(endpoint, exchange.kind, key_of(exchange), exchange.first_byte - asked, head.status);
}

void Exchanges::take_response_body(Exchange& exchange, Chain& input) {
  wire::BodyReader& body = exchange.response_body;
  bool broken = false;
  while (!input.empty() && !body.complete() && !broken) {
    const Slice& front = input.front();
    const wire::BodyReader::Step step = body.next(front.view());
    broken = step.status == wire::BodyReader::Step::Status::refused;
    if (step.payload_size > 0) pass_payload(exchange, front, step.payload_at, step.payload_size);
    if (!broken) input.drop_front(step.consumed);
  }
  if (body.complete()) pass_end(exchange, body.trailers());
  if (!flush(exchange)) return;
  if (broken) return cut_short(exchange, Cause::backend_bad_response);
  if (body.complete()) return complete(exchange, input.empty());
  response_moved(exchange);
}

void Exchanges::pass_payload(Exchange& exchange, const Slice& source, std::uint32_t at, std::uint32_t size) {
  if (compresses(exchange)) return pass_coded(exchange, source.view().substr(at, size), wire::Encoder::After::more);
  exchange.front->add_payload(exchange.client, source, at, size, exchange.to_client);
  exchange.response_sent += size;
}

void Exchanges::pass_coded(Exchange& exchange, std::string_view payload, wire::Encoder::After after) {
  Chain coded;
  exchange.applied->encoder->encode(core_.reactor.blocks(), payload, after, coded);
  while (!coded.empty()) {
    const Slice piece = coded.pop_front();
    exchange.front->add_payload(exchange.client, piece, 0, piece.size(), exchange.to_client);
    exchange.response_sent += piece.size();
  }
}

void Exchanges::pass_end(Exchange& exchange, std::string_view trailers) {
  if (compresses(exchange)) {
    pass_coded(exchange, {}, wire::Encoder::After::end);
    end_compression(exchange);
  }
  std::string changed;
  if (!trailers.empty() && exchange.applied != nullptr) {
    changed = exchange.applied->response.trailers(trailers);
    trailers = changed;
  }
  exchange.front->add_end(exchange.client, trailers, exchange.to_client);
}

// Events of a stream must not wait in the encoder for the next. False: the exchange has ended meanwhile, since sending
// may find that the client's stream, or its connection, is over.
bool Exchanges::flush(Exchange& exchange) {
  if (compresses(exchange)) pass_coded(exchange, {}, wire::Encoder::After::flush);
  exchange.front->flush(exchange.client, std::move(exchange.to_client));
  return !exchange.life.ended();
}

void Exchanges::on_response_head(Handle handle, const wire::ResponseHead& head) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr) return;
  exchange->heard = core_.reactor.now();
  note_first_byte(*exchange);
  take_response_head(*exchange, head);
}

void Exchanges::on_response_payload(Handle handle, Slice payload) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr) return;
  exchange->heard = core_.reactor.now();
  if (exchange->life.is(State::tunnelling)) return on_tunnel_bytes_from_backend(*exchange, std::move(payload));
  pass_payload(*exchange, payload, 0, payload.size());
}

void Exchanges::on_response_whole(Handle handle, std::string_view trailers) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr) return;
  if (exchange->life.is(State::tunnelling)) return tunnel_finished(*exchange, owner_backend);
  pass_end(*exchange, trailers);
  if (flush(*exchange)) complete(*exchange, true);
}

void Exchanges::flush_response(Handle handle) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr || exchange->life.is(State::tunnelling)) return;
  if (flush(*exchange) && response_has_begun(*exchange)) response_moved(*exchange);
}

// After each step of the response: who is to move next.
void Exchanges::response_moved(Exchange& exchange) {
  // A witness has been heard by its first byte; the rest is read for the sake of the connection, if it is not much.
  if (exchange.front == core_.witnesses && exchange.response_sent > Witnesses::body_bytes_max)
    return on_client_left(exchange.self, Cause::cancelled);
  arm_for_state(exchange);
  if (pump_response(exchange)) return;
  const Receive mode = client_stuck(exchange) ? Receive::paused : exchange.front->bulk();
  if (!exchange.life.ended()) exchange.back->receive(exchange.backend, mode);  // looking sends what it can
}

bool Exchanges::pump_response(Exchange& exchange) {
  const wire::BodyReader& body = exchange.response_body;
  if (body.framing() != Framing::length || body.remaining() < pump_bytes_min || compresses(exchange)) return false;
  const reactor::SocketId from = exchange.back->bare_socket(exchange.backend);
  const reactor::SocketId to = exchange.front->bare_socket(exchange.client);
  if (!from || !to) return false;
  exchange.back->receive(exchange.backend, Receive::paused);
  if (exchange.front->unsent(exchange.client) > 0) return true;  // on_client_drained comes back here
  exchange.pumping_response = true;
  core_.reactor.pump(from, to, body.remaining());
  return true;
}

void Exchanges::on_client_drained(Handle handle) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr || exchange->pumping_response) return;
  if (response_has_begun(*exchange)) return response_moved(*exchange);
  if (exchange->life.is(State::tunnelling) && !exchange->backend_finished) {
    exchange->back->receive(exchange->backend, Receive::watchful);
    arm_for_state(*exchange);
  }
}

// `clean`: nothing came behind the response.
void Exchanges::complete(Exchange& exchange, bool clean) {
  const bool whole = exchange.request_whole;
  exchange.back->release(exchange.backend, whole && clean && exchange.keep_backend);
  exchange.backend = {};
  step(exchange, Event::response_whole);
  end(exchange, Cause::completed);
  exchange.front->release(exchange.client, whole);
}

// The response began and cannot be completed. The client must be able to tell.
void Exchanges::cut_short(Exchange& exchange, Cause cause) {
  if (exchange.backend) exchange.back->cancel(exchange.backend, cause);
  exchange.backend = {};
  step(exchange, Event::failed);
  end(exchange, cause);
  exchange.front->cut(exchange.client, cause);
}

void Exchanges::on_backend_finished(Handle handle, lifecycle::Delivery delivery) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr) return;
  if (exchange->life.is(State::tunnelling)) return tunnel_finished(*exchange, owner_backend);
  if (!response_has_begun(*exchange)) {
    const Cause cause = exchange->response_bytes ? Cause::backend_truncated : Cause::backend_closed;
    exchange->back->cancel(exchange->backend, cause);
    exchange->backend = {};
    return retry_or_fail(*exchange, cause, delivery);
  }
  if (exchange->response_body.framing() != Framing::until_close) return cut_short(*exchange, Cause::backend_truncated);
  pass_end(*exchange, {});
  if (flush(*exchange)) complete(*exchange, true);
}

}  // namespace ebb::gate
