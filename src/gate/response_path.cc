#include "gate/response_path.h"

#include "gate/bonds.h"
#include "gate/compression.h"
#include "gate/deadlines.h"
#include "gate/endpoints.h"
#include "gate/exchanges.h"
#include "gate/moves.h"
#include "gate/pump.h"
#include "gate/tunnel.h"
#include "gate/witnesses.h"
#include "wire/h1_field.h"

namespace ebb::gate {

using base::Cause;
using base::Chain;
using base::Handle;
using base::Slice;
using reactor::Receive;
using HalfEvent = lifecycle::ResponseHalfLife::Event;
using State = lifecycle::ExchangeLife::State;

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

bool asked_to_switch(const Request& request, std::string_view protocols) {
  return request.upgrades() && request.whole() && names_only_offered(protocols, request.upgrade_offer);
}

}  // namespace

void ResponsePath::on_heard(Handle handle) {
  Exchange* exchange = core_.exchanges->live(handle);
  if (exchange == nullptr || !exchange->attempt) return;
  Attempt& attempt = *exchange->attempt;
  const bool first = !attempt.has_spoken() && !exchange->life.is(State::tunnelling);
  attempt.heard = core_.reactor.now();
  if (!first) return;
  exchange->account.first_byte = attempt.heard;
  if (attempt.trial) core_.deadlines->end_trial(*exchange);
  if (exchange->tries.comparison) core_.moves->note_comparison(*exchange);
}

// Interim heads go on to the client as they come (RFC 9110 15.2); the final one begins the response.
void ResponsePath::on_head(Handle handle, const wire::ResponseHead& received) {
  Exchange* exchange = core_.exchanges->live(handle);
  if (exchange == nullptr) return;
  const bool switches = received.status == 101;
  // An endpoint of HTTP/1 that ignores Upgrade means something else by its success.
  const bool no_tunnel =
      exchange->request.upgrades() && exchange->front->success_opens_tunnel() && received.status / 100 == 2;
  if (no_tunnel) return core_.exchanges->finish(*exchange, Cause::backend_no_upgrade);
  const bool unchanged = exchange->applied == nullptr || received.interim();
  const wire::ResponseHead* changed = unchanged ? &received : with_changes(*exchange, received);
  const bool unasked = switches && !asked_to_switch(exchange->request, received.upgrade);
  if (unasked || changed == nullptr || (received.interim() && too_many_interim(*exchange, received))) {
    return core_.exchanges->finish(*exchange, Cause::backend_bad_response);
  }
  const wire::ResponseHead& head = *changed;
  if (!head.interim()) {
    learn(*exchange, head);
    core_.exchanges->step(*exchange, lifecycle::ExchangeLife::Event::answered);
    core_.exchanges->step(*exchange, exchange->response.life, HalfEvent::began);
    exchange->response.status = head.status;
  }
  exchange->front->add_head(exchange->client, head, exchange->request.whole(), exchange->response.out);
  if (switches) core_.tunnel->begin(*exchange);
}

// The head with what the route changes about it; nullptr: it has no room for that.
const wire::ResponseHead* ResponsePath::with_changes(Exchange& exchange, const wire::ResponseHead& received) {
  AppliedPolicy& applied = *exchange.applied;
  if (applied.sticky) core_.bonds->give_cookie(exchange);
  const bool compress = applied.compression != nullptr && worth_compressing(*applied.compression, received) &&
                        may_compress(core_, exchange);
  if (applied.response.empty() && !compress) return &received;
  wire::ResponseHead& changed = core_.response;
  if (&changed != &received) changed = received;
  if (compress) {
    begin_compression(core_, exchange);
    if (!write_compressed_head(applied.coding, changed, applied.text)) return nullptr;
  }
  return applied.response.apply(changed.fields) ? &changed : nullptr;
}

// Nothing holds them back, so a client that does not read would pile them up.
bool ResponsePath::too_many_interim(Exchange& exchange, const wire::ResponseHead& head) const {
  std::uint64_t& bytes = exchange.response.interim_bytes;
  bytes += std::string_view("HTTP/1.1 103 \r\n\r\n").size() + head.reason.size();
  for (const wire::Field& field : head.fields.all()) {
    bytes += field.name.size() + field.value.size() + std::string_view(": \r\n").size();
  }
  return bytes > interim_heads_max * core_.head_limits().head_bytes;
}

void ResponsePath::learn(const Exchange& exchange, const wire::ResponseHead& head) {
  EBB_FIND(endpoint, core_.endpoints->find(exchange.endpoint()));
  if (head.idle_seconds > 0) endpoint.idle_limit.announced(std::chrono::seconds{head.idle_seconds});
  const base::Instant asked = std::max(exchange.account.handed_over, exchange.attempt->asked);
  const bool may_be_bound = exchange.hash_key || exchange.applied != nullptr;
  const lifecycle::ClientKey key = may_be_bound ? key_of(exchange) : lifecycle::unbound;
  core_.health->answered(endpoint, exchange.request.kind, key, exchange.account.first_byte - asked, head.status);
}

void ResponsePath::on_payload(Handle handle, const Slice& source, std::uint32_t at, std::uint32_t size) {
  Exchange* exchange = core_.exchanges->live(handle);
  if (exchange == nullptr) return;
  if (exchange->compresses()) {
    return pass_coded(*exchange, source.view().substr(at, size), wire::Encoder::After::more);
  }
  pass(*exchange, source, at, size);
}

void ResponsePath::pass(Exchange& exchange, const Slice& source, std::uint32_t at, std::uint32_t size) {
  exchange.front->add_payload(exchange.client, source, at, size, exchange.response.out);
  exchange.response.sent += size;
}

void ResponsePath::pass_coded(Exchange& exchange, std::string_view payload, wire::Encoder::After after) {
  Chain coded;
  exchange.applied->encoder->encode(core_.reactor.blocks(), payload, after, coded);
  while (!coded.empty()) {
    const Slice piece = coded.pop_front();
    pass(exchange, piece, 0, piece.size());
  }
}

// Events of a stream must not wait in the encoder for the next.
bool ResponsePath::flush(Exchange& exchange) {
  if (exchange.compresses()) pass_coded(exchange, {}, wire::Encoder::After::flush);
  exchange.front->flush(exchange.client, std::move(exchange.response.out));
  return !exchange.life.ended();
}

void ResponsePath::on_moved(Handle handle) {
  Exchange* exchange = core_.exchanges->live(handle);
  if (exchange == nullptr || exchange->life.is(State::tunnelling)) return;
  if (flush(*exchange) && exchange->life.is(State::answering)) go_on(*exchange);
}

void ResponsePath::on_whole(Handle handle, std::string_view trailers) {
  Exchange* exchange = core_.exchanges->live(handle);
  if (exchange == nullptr) return;
  if (exchange->compresses()) {
    pass_coded(*exchange, {}, wire::Encoder::After::end);
    end_compression(core_, *exchange);
  }
  std::string changed;
  if (!trailers.empty() && exchange->applied != nullptr) {
    changed = exchange->applied->response.trailers(trailers);
    trailers = changed;
  }
  exchange->front->send_end(exchange->client, trailers, std::move(exchange->response.out));
  if (exchange->life.ended()) return;  // sending has shown that the client is gone
  core_.exchanges->step(*exchange, exchange->response.life, HalfEvent::whole);
  core_.exchanges->finish(*exchange, Cause::completed);
}

// After each step of the response: who is to move next.
void ResponsePath::go_on(Exchange& exchange) {
  // A witness has been heard by its first byte; the rest is read for the sake of the connection, if it is not much.
  if (exchange.front == core_.witnesses && exchange.response.sent > Witnesses::body_bytes_max)
    return core_.exchanges->on_client_left(exchange.self, Cause::cancelled);
  core_.deadlines->moved(exchange);
  if (pump(exchange)) return;
  const bool stuck = core_.exchanges->stuck(exchange, exchange.to_client());  // looking sends what it can
  if (exchange.life.ended()) return;
  exchange.attempt->back->receive(exchange.attempt->end, stuck ? Receive::paused : exchange.front->bulk());
}

// True: the kernel moves the rest, or will.
bool ResponsePath::pump(Exchange& exchange) {
  if (exchange.compresses()) return false;
  const Way way = exchange.to_client();
  const Pump pump = prepare_pump(way);
  if (pump != Pump::can) return pump == Pump::soon;
  core_.exchanges->step(exchange, exchange.response.life, HalfEvent::pump);
  start_pump(core_, way);
  return true;
}

bool ResponsePath::on_pumped(Handle handle, std::uint64_t moved) {
  Exchange* exchange = core_.exchanges->live(handle);
  if (exchange == nullptr || !exchange->response.life.is(lifecycle::ResponseHalfLife::State::pumped)) return false;
  exchange->attempt->heard = core_.reactor.now();
  exchange->response.sent += moved;
  core_.counters.backend_bytes_in += moved;
  core_.counters.client_bytes_out += moved;
  core_.deadlines->moved(*exchange);
  return true;
}

void ResponsePath::on_client_drained(Handle handle) {
  Exchange* exchange = core_.exchanges->live(handle);
  if (exchange == nullptr || exchange->response.life.is(lifecycle::ResponseHalfLife::State::pumped)) return;
  // Without an end the response is over: its last bytes have left.
  if (exchange->life.is(State::answering) && exchange->attempt->end) return go_on(*exchange);
  if (exchange->life.is(State::tunnelling)) core_.tunnel->on_client_drained(*exchange);
}

}  // namespace ebb::gate
