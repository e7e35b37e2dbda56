// The request's way from the client to the endpoint: body framing, back-pressure, what is kept for a replay.
//
// Before: gate/backends lent a connection. Next: gate/response_path.
#include "gate/backends.h"
#include "gate/exchanges.h"
#include "gate/payload.h"

namespace ebb::gate {

using base::Cause;
using base::Chain;
using base::Handle;
using reactor::Receive;

namespace {

// Requests up to this size can be repeated; larger ones are sent once.
constexpr std::size_t replay_bytes_max = std::size_t{64} << 10;

// What the route sets or removes in the head must not come in behind the body.
std::string passed_trailers(const Exchange& exchange, std::string_view received) {
  if (received.empty() || exchange.request_edits == nullptr) return std::string(received);
  return change_request_trailers(received, *exchange.request_edits);
}

}  // namespace

bool Exchanges::add_request_payload(Exchange& exchange, const base::Slice& source, std::uint32_t at,
                                    std::uint32_t size) {
  exchange.request_bytes += size;
  if (decided(exchange)) return true;  // no endpoint will want it
  append_payload(core_.reactor.blocks(), exchange.body, source, at, size, false);
  if (exchange.applied != nullptr) copy_payload(exchange, source, at, size);
  const std::uint64_t limit = body_limit(exchange);
  if (limit == 0 || exchange.request_bytes <= limit) return true;
  fail(exchange, Event::failed, Cause::client_body_too_large);
  return false;
}

bool Exchanges::on_request_payload(Handle handle, const base::Slice& source, std::uint32_t at, std::uint32_t size) {
  Exchange* exchange = live(handle);
  return exchange != nullptr && add_request_payload(*exchange, source, at, size);
}

void Exchanges::on_request_broken(Handle handle) {
  if (Exchange* exchange = live(handle); exchange != nullptr) {
    fail(*exchange, Event::failed, Cause::client_bad_request);
  }
}

void Exchanges::on_request_moved(Handle handle) {
  if (Exchange* exchange = live(handle); exchange != nullptr) request_arrived(*exchange);
}

void Exchanges::on_request_whole(Handle handle, std::string_view trailers) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr) return;
  exchange->pumping_request = false;
  exchange->request_whole = true;
  exchange->trailers = passed_trailers(*exchange, trailers);
  request_arrived(*exchange);
}

void Exchanges::request_arrived(Exchange& exchange) {
  if (exchange.life.is(State::choosing)) return;  // start() is still to come
  const Handle self = exchange.self;
  const bool connected = exchange.life.is(State::uploading) || exchange.life.is(State::crossing);
  if (connected) send_request(exchange);
  // No endpoint takes it yet; what is too much stays with the client.
  else if (!exchange.request_whole && waits_too_much(0, exchange.body.held(), share(exchange))) {
    exchange.front->receive(exchange.client, Receive::paused);
  }
  if (live(self) != nullptr) send_mirrors(exchange);
}

void Exchanges::send_request(Exchange& exchange) {
  Back& back = *exchange.back;
  Chain out;
  if (!exchange.head_sent) {
    const bool alone = exchange.request_whole && exchange.body.empty() && exchange.trailers.empty();
    if (!back.add_head(exchange.backend, exchange.head, exchange.method, alone, out)) {
      return fail(exchange, Event::failed, Cause::backend_no_upgrade);
    }
    exchange.head_sent = true;
    exchange.end_sent = alone && exchange.framing != wire::Framing::chunked;
  }
  keep_for_replay(exchange);
  while (!exchange.body.empty()) {
    back.add_payload(exchange.backend, exchange.body.pop_front(), exchange.framing, out);
  }
  if (exchange.request_whole && !exchange.end_sent) {
    back.add_end(exchange.backend, exchange.trailers, exchange.framing, out);
    exchange.end_sent = true;
  }
  const Handle backend = exchange.backend;
  back.flush(backend, std::move(out));
  if (exchange.backend == backend) request_moved(exchange);  // else sending has ended it, or it is on another way
}

// Slices are counted references: keeping them costs no copy, only that their blocks stay; so pieces that would keep a
// block each are copied together. Of whatever method: a FIN may prove that the request never arrived, on a new
// connection too if its endpoint stops just then.
void Exchanges::keep_for_replay(Exchange& exchange) {
  if (!exchange.replayable || exchange.body.empty()) return;
  Chain& kept = exchange.kept;
  const bool too_much = kept.held() + exchange.body.held() > share(exchange);
  if (too_much) core_.counters.replay_copies_dropped += 1;
  if (too_much || kept.bytes() + exchange.body.bytes() > replay_bytes_max) {
    exchange.replayable = false;
    kept.clear();
    return;
  }
  for (std::uint32_t i = 0; i < exchange.body.slices(); ++i) {
    const base::Slice& piece = exchange.body[i];
    if (!kept.empty() && piece.size() <= copy_bytes_max) {
      kept.append(core_.reactor.blocks(), piece.view());
    } else {
      kept.push(piece);
    }
  }
}

std::size_t Exchanges::head_memory(const Exchange& exchange) {
  const base::Block* block = exchange.head.block();
  return (block == nullptr ? 0 : sizeof(base::Block) + block->capacity()) + exchange.text.capacity() +
         exchange.trailers.capacity() + exchange.upgrade_offer.capacity();
}

std::size_t Exchanges::head_memory(Handle handle) const {
  const Exchange* exchange = exchanges_.find(handle);
  return exchange == nullptr ? 0 : head_memory(*exchange);
}

// The response has begun, and no other endpoint will get the request. Its mirrors may still have to.
void Exchanges::forget_request(Exchange& exchange) {
  exchange.kept.clear();
  if (exchange.applied == nullptr || exchange.applied->mirrors.empty()) exchange.head = {};
}

void Exchanges::drop_replay_copies() {
  exchanges_.for_each([this](Handle, Exchange& exchange) {
    if (exchange.kept.empty()) return;
    core_.counters.replay_copies_dropped += 1;
    exchange.replayable = false;
    exchange.kept.clear();
  });
}

// After each step of the request: what is awaited next, and from whom.
void Exchanges::request_moved(Exchange& exchange) {
  if (exchange.request_whole) {
    step(exchange, Event::request_whole);
    exchange.asked = core_.reactor.now();
    if (const EndpointState* endpoint = core_.endpoints->find(exchange.endpoint); endpoint != nullptr)
      exchange.place = endpoint->order.place(endpoint->active);
    exchange.front->receive(exchange.client, Receive::watchful);
    return arm_for_state(exchange);
  }
  arm_for_state(exchange);
  if (pump_request(exchange)) return;
  const Handle backend = exchange.backend;
  const bool stuck = backend_stuck(exchange);  // looking sends what it can
  if (exchange.backend != backend) return;
  if (stuck) return exchange.front->receive(exchange.client, Receive::paused);
  const bool much = exchange.front->body_left(exchange.client) > base::BlockPool::large_size;
  exchange.front->receive(exchange.client, much ? core_.bulk() : Receive::watchful);
}

// True: the kernel moves the rest, or will as soon as the endpoint has taken what was sent before.
bool Exchanges::pump_request(Exchange& exchange) {
  const std::uint64_t left = exchange.front->body_left(exchange.client);
  if (exchange.framing != wire::Framing::length || left < pump_bytes_min) return false;
  const reactor::SocketId from = exchange.front->bare_socket(exchange.client);
  const reactor::SocketId to = exchange.back->bare_socket(exchange.backend);
  const bool copied = exchange.applied != nullptr && !exchange.applied->mirrors.empty();
  if (!from || !to || copied) return false;
  exchange.front->receive(exchange.client, Receive::paused);
  if (exchange.back->unsent(exchange.backend) > 0) return true;
  exchange.replayable = false;
  exchange.kept.clear();
  exchange.pumping_request = true;
  core_.reactor.pump(from, to, left);
  return true;
}

void Exchanges::on_backend_drained(Handle handle) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr || exchange->pumping_request) return;
  if (exchange->life.is(State::uploading) || exchange->life.is(State::crossing)) return request_moved(*exchange);
  if (exchange->life.is(State::tunnelling)) {
    exchange->front->receive(exchange->client, Receive::watchful);
    arm_for_state(*exchange);
  }
}

bool Exchanges::on_request_pumped(Handle handle, std::uint64_t moved) {
  Exchange* exchange = live(handle);
  // Of the exchange before this one there is no word any more: closing either socket ends a pump.
  if (exchange == nullptr || !exchange->pumping_request) return false;
  exchange->request_bytes += moved;
  core_.counters.client_bytes_in += moved;
  core_.counters.backend_bytes_out += moved;
  exchange->back->pumped(exchange->backend, moved);
  arm_for_state(*exchange);
  return true;
}

}  // namespace ebb::gate
