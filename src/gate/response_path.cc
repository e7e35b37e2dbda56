// The answer's way from the endpoint to the client: heads (1xx too), body framing, back-pressure, the honest end.
//
// Before: gate/request_path. Next: the client's connection waits for its next request (gate/clients), the endpoint's
// goes back to its pool (gate/backends).
#include "gate/compression.h"
#include "gate/endpoints.h"
#include "gate/exchanges.h"
#include "gate/health.h"
#include "gate/witnesses.h"
#include "wire/h1_field.h"

namespace ebb::gate {

using base::Cause;
using base::Chain;
using base::Handle;
using base::Slice;
using reactor::Receive;

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

void Exchanges::on_heard(Handle handle) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr) return;
  exchange->heard = core_.reactor.now();
  if (!exchange->life.is(State::tunnelling)) note_first_byte(*exchange);
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

void Exchanges::on_response_head(Handle handle, const wire::ResponseHead& received) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr) return;
  const bool upgrade = received.status == 101;
  const bool unasked = upgrade && (!exchange->upgrade_asked || !exchange->request_whole ||
                                   !names_only_offered(received.upgrade, exchange->upgrade_offer));
  // An endpoint of HTTP/1 that ignores Upgrade means something else by its success.
  const bool no_tunnel =
      exchange->upgrade_asked && exchange->front->success_opens_tunnel() && received.status / 100 == 2;
  if (no_tunnel) return fail(*exchange, Event::failed, Cause::backend_no_upgrade);
  const wire::ResponseHead* changed = with_changes(*exchange, received);
  if (unasked || changed == nullptr || too_many_interim(*exchange, received)) {
    return fail(*exchange, Event::failed, Cause::backend_bad_response);
  }
  const wire::ResponseHead& head = *changed;
  if (!head.interim()) {
    step(*exchange, Event::response_began);
    forget_request(*exchange);
    exchange->status = head.status;
    learn_from_answer(*exchange, head);
  }
  exchange->front->add_head(exchange->client, head, exchange->request_whole, exchange->to_client);
  if (upgrade) become_tunnel(*exchange, Event::upgraded);
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

void Exchanges::on_response_payload(Handle handle, const Slice& source, std::uint32_t at, std::uint32_t size) {
  if (Exchange* exchange = live(handle); exchange != nullptr) pass_payload(*exchange, source, at, size);
}

void Exchanges::on_response_whole(Handle handle, std::string_view trailers) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr) return;
  pass_end(*exchange, trailers);
  if (flush(*exchange)) complete(*exchange);
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
  const std::uint64_t left = exchange.back->body_left(exchange.backend);
  const bool known = left != UINT64_MAX;
  if (!known || left < pump_bytes_min || compresses(exchange)) return false;
  const reactor::SocketId from = exchange.back->bare_socket(exchange.backend);
  const reactor::SocketId to = exchange.front->bare_socket(exchange.client);
  if (!from || !to) return false;
  exchange.back->receive(exchange.backend, Receive::paused);
  if (exchange.front->unsent(exchange.client) > 0) return true;  // on_client_drained comes back here
  exchange.pumping_response = true;
  core_.reactor.pump(from, to, left);
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

void Exchanges::complete(Exchange& exchange) {
  const bool whole = exchange.request_whole;
  exchange.back->release(exchange.backend, whole);
  exchange.backend = {};
  step(exchange, Event::response_whole);
  end(exchange, Cause::completed);
  exchange.front->release(exchange.client, whole);
}

bool Exchanges::on_response_pumped(Handle handle, std::uint64_t moved) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr || !exchange->pumping_response) return false;
  exchange->heard = core_.reactor.now();
  exchange->response_sent += moved;
  core_.counters.backend_bytes_in += moved;
  core_.counters.client_bytes_out += moved;
  arm_for_state(*exchange);
  return true;
}

// The response began and cannot be completed. The client must be able to tell.
void Exchanges::cut_short(Exchange& exchange, Cause cause) {
  if (exchange.backend) exchange.back->cancel(exchange.backend, cause);
  exchange.backend = {};
  step(exchange, Event::failed);
  end(exchange, cause);
  exchange.front->cut(exchange.client, cause);
}

}  // namespace ebb::gate
