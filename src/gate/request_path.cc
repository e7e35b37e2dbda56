#include "gate/request_path.h"

#include "gate/admission.h"
#include "gate/deadlines.h"
#include "gate/endpoints.h"
#include "gate/exchanges.h"
#include "gate/mirrors.h"
#include "gate/payload.h"
#include "gate/pump.h"
#include "gate/tunnel.h"

namespace ebb::gate {

using base::Cause;
using base::Chain;
using base::Handle;
using reactor::Receive;
using AttemptEvent = lifecycle::AttemptLife::Event;
using HalfEvent = lifecycle::RequestHalfLife::Event;
using State = lifecycle::ExchangeLife::State;

namespace {

// Requests up to this size can be repeated; larger ones are sent once.
constexpr std::size_t replay_bytes_max = std::size_t{64} << 10;

// What the route sets or removes in the head must not come in behind the body.
std::string passed_trailers(const Request& request, std::string_view received) {
  if (received.empty() || request.edits == nullptr) return std::string(received);
  return change_request_trailers(received, *request.edits);
}

// The endpoint has the head, and gets what comes.
bool is_sending(const Exchange& exchange) {
  return exchange.attempt && exchange.attempt->life.is(Attempt::State::sending);
}

}  // namespace

bool RequestPath::on_payload(Handle handle, const base::Slice& source, std::uint32_t at, std::uint32_t size) {
  Exchange* exchange = core_.exchanges->live(handle);
  if (exchange == nullptr) return false;
  Request& request = exchange->request;
  request.bytes += size;
  if (exchange->decided()) return true;  // no endpoint will want it
  append_payload(core_.reactor.blocks(), request.body, source, at, size, false);
  if (exchange->mirrored()) core_.mirrors->copy(*exchange, source, at, size);
  const std::uint64_t limit = body_limit(*exchange);
  if (limit == 0 || request.bytes <= limit) return true;
  core_.exchanges->finish(*exchange, Cause::client_body_too_large);
  return false;
}

void RequestPath::on_moved(Handle handle) {
  if (Exchange* exchange = core_.exchanges->live(handle); exchange != nullptr) go_on(*exchange);
}

void RequestPath::on_whole(Handle handle, std::string_view trailers) {
  Exchange* exchange = core_.exchanges->live(handle);
  if (exchange == nullptr) return;
  // A request that was whole with its head may still end in a frame of its own.
  if (!exchange->request.whole()) core_.exchanges->step(*exchange, exchange->request.life, HalfEvent::whole);
  exchange->request.trailers = passed_trailers(exchange->request, trailers);
  go_on(*exchange);
}

void RequestPath::on_broken(Handle handle) {
  if (Exchange* exchange = core_.exchanges->live(handle); exchange != nullptr) {
    core_.exchanges->finish(*exchange, Cause::client_bad_request);
  }
}

void RequestPath::go_on(Exchange& exchange) {
  if (exchange.life.is(State::choosing)) return;  // Intake::start() is still to come
  const Handle self = exchange.self;
  if (is_sending(exchange)) {
    send(exchange, Part::rest);
  } else if (!exchange.request.whole() && waits_too_much(exchange)) {  // no endpoint takes it yet
    exchange.front->receive(exchange.client, Receive::paused);
  }
  if (core_.exchanges->live(self) != nullptr && exchange.mirrored()) core_.mirrors->send(exchange);
}

bool RequestPath::waits_too_much(const Exchange& exchange) const {
  return gate::waits_too_much(0, exchange.request.body.held(), core_.exchanges->share(exchange));
}

void RequestPath::send(Exchange& exchange, Part part) {
  Request& request = exchange.request;
  const Handle end = exchange.attempt->end;
  Back& back = *exchange.attempt->back;
  Chain out;
  bool end_sent = false;  // the head has said that nothing follows
  if (part == Part::whole) {
    const bool alone = request.whole() && request.body.empty() && request.trailers.empty();
    if (!back.add_head(end, request.head, request.method, alone, out)) {
      return core_.exchanges->finish(exchange, Cause::backend_no_upgrade);
    }
    end_sent = alone && request.framing != wire::Framing::chunked;
  }
  if (request.replayable && !request.body.empty()) keep_for_replay(exchange);
  while (!request.body.empty()) back.add_payload(end, request.body.pop_front(), request.framing, out);
  if (request.whole() && !end_sent) back.add_end(end, request.trailers, request.framing, out);
  back.flush(end, std::move(out));
  // Else sending has ended it, or it is on another way, or what waited has left and so the rest was seen to go.
  if (is_sending(exchange) && exchange.attempt->end == end) sent(exchange);
}

// Slices are counted references: keeping them costs no copy, only that their blocks stay; so pieces that would keep a
// block each are copied together. Of whatever method: a FIN may prove that the request never arrived, on a new
// connection too if its endpoint stops just then.
void RequestPath::keep_for_replay(Exchange& exchange) {
  Request& request = exchange.request;
  Chain& kept = request.kept;
  const bool too_much = kept.held() + request.body.held() > core_.exchanges->share(exchange);
  if (too_much) core_.counters.replay_copies_dropped += 1;
  if (too_much || kept.bytes() + request.body.bytes() > replay_bytes_max) {
    request.replayable = false;
    kept.clear();
    return;
  }
  for (std::uint32_t i = 0; i < request.body.slices(); ++i) {
    const base::Slice& piece = request.body[i];
    if (!kept.empty() && piece.size() <= copy_bytes_max) {
      kept.append(core_.reactor.blocks(), piece.view());
    } else {
      kept.push(piece);
    }
  }
}

void RequestPath::drop_replay_copies() {
  core_.exchanges->for_each([this](Handle, Exchange& exchange) {
    if (exchange.request.kept.empty()) return;
    core_.counters.replay_copies_dropped += 1;
    exchange.request.replayable = false;
    exchange.request.kept.clear();
  });
}

// After each step of the request: what is awaited next, and from whom.
void RequestPath::sent(Exchange& exchange) {
  Attempt& attempt = *exchange.attempt;
  if (exchange.request.whole()) {
    core_.exchanges->step(exchange, attempt.life, AttemptEvent::sent);
    if (const LiveEndpoint* endpoint = core_.endpoints->find(attempt.endpoint); endpoint != nullptr)
      attempt.place = endpoint->order.place(endpoint->active);
    core_.deadlines->asked(exchange);
    return exchange.front->receive(exchange.client, Receive::watchful);
  }
  core_.deadlines->moved(exchange);
  if (pump(exchange)) return;
  const Handle end = attempt.end;
  const bool stuck = core_.exchanges->stuck(exchange, exchange.to_backend());  // looking sends what it can
  if (!exchange.attempt || exchange.attempt->end != end) return;
  if (stuck) return exchange.front->receive(exchange.client, Receive::paused);
  const bool much = exchange.front->body_left(exchange.client) > base::BlockPool::large_size;
  exchange.front->receive(exchange.client, much ? core_.bulk() : Receive::watchful);
}

// True: the kernel moves the rest, or will.
bool RequestPath::pump(Exchange& exchange) {
  Request& request = exchange.request;
  if (request.framing != wire::Framing::length || exchange.mirrored()) return false;
  const Way way = exchange.to_backend();
  const Pump pump = prepare_pump(way);
  if (pump != Pump::can) return pump == Pump::soon;
  request.replayable = false;
  request.kept.clear();
  core_.exchanges->step(exchange, request.life, HalfEvent::pump);
  start_pump(core_, way);
  return true;
}

bool RequestPath::on_pumped(Handle handle, std::uint64_t moved) {
  Exchange* exchange = core_.exchanges->live(handle);
  // Of the exchange before this one there is no word any more: closing either socket ends a pump.
  if (exchange == nullptr || !exchange->request.life.is(Request::State::pumped)) return false;
  exchange->request.bytes += moved;
  core_.counters.client_bytes_in += moved;
  core_.counters.backend_bytes_out += moved;
  exchange->attempt->back->pumped(exchange->attempt->end, moved);
  core_.deadlines->moved(*exchange);
  return true;
}

void RequestPath::on_backend_drained(Handle handle) {
  Exchange* exchange = core_.exchanges->live(handle);
  if (exchange == nullptr || exchange->request.life.is(Request::State::pumped)) return;
  if (exchange->life.is(State::tunnelling)) return core_.tunnel->on_backend_drained(*exchange);
  if (is_sending(*exchange)) sent(*exchange);
}

}  // namespace ebb::gate
