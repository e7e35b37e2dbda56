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

}  // namespace

bool Exchanges::wants_request_bytes(Handle handle) {
  const Exchange* exchange = live(handle);
  return exchange != nullptr && !request_is_whole(*exchange);
}

void Exchanges::on_request_bytes(Handle handle, Chain& bytes) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr || !take_request_body(*exchange, bytes)) return;
  const bool connected = exchange->life.is(State::uploading) || exchange->life.is(State::crossing);
  if (connected) send_request(*exchange);
}

// False: the body broke its framing or its limit, and the exchange has failed.
bool Exchanges::take_request_body(Exchange& exchange, Chain& bytes) {
  wire::BodyReader& body = exchange.request_body;
  const bool chunked = body.framing() == wire::Framing::chunked;
  const std::uint64_t limit = exchange.snapshot->model().limits.body_bytes;
  if (body.complete()) return true;
  while (!bytes.empty() && !body.complete()) {
    const base::Slice& front = bytes.front();
    const wire::BodyReader::Step step = body.next(front.view());
    if (step.status == wire::BodyReader::Step::Status::refused) {
      fail(exchange, Event::failed, Cause::client_bad_request);
      return false;
    }
    append_payload(core_.reactor.blocks(), exchange.outgoing, front, step.payload_at, step.payload_size, chunked);
    exchange.request_bytes += step.payload_size;
    bytes.drop_front(step.consumed);
    if (limit != 0 && exchange.request_bytes > limit) {
      fail(exchange, Event::failed, Cause::client_body_too_large);
      return false;
    }
  }
  if (chunked && body.complete()) append_last_chunk(core_.reactor.blocks(), exchange.outgoing, body.trailers());
  return true;
}

void Exchanges::send_request(Exchange& exchange) {
  BackendConnection& backend = *core_.backends->find(exchange.backend);
  if (!exchange.outgoing.empty()) {
    keep_for_replay(exchange);
    core_.counters.backend_bytes_out += exchange.outgoing.bytes();
    core_.reactor.send(backend.socket, std::move(exchange.outgoing));
  }
  request_moved(exchange);
}

// Slices are counted references: keeping them costs no copy, only that their blocks stay.
void Exchanges::keep_for_replay(Exchange& exchange) {
  if (!exchange.replayable) return;
  if (exchange.kept.bytes() + exchange.outgoing.bytes() > replay_bytes_max) {
    exchange.replayable = false;
    exchange.kept.clear();
    return;
  }
  for (std::uint32_t i = 0; i < exchange.outgoing.slices(); ++i) exchange.kept.push(exchange.outgoing[i]);
}

// After each step of the request: what is awaited next, and from whom.
void Exchanges::request_moved(Exchange& exchange) {
  ClientConnection& client = *core_.clients->find(exchange.client);
  BackendConnection& backend = *core_.backends->find(exchange.backend);
  if (request_is_whole(exchange)) {
    step(exchange, Event::request_whole);
    if (client.input.empty()) core_.reactor.receive(client.socket, Receive::watchful);
    return arm_for_state(exchange);
  }
  arm_for_state(exchange);
  if (pump_request(exchange, client, backend)) return;
  if (core_.reactor.unsent(backend.socket) > output_high_water) {
    return core_.reactor.receive(client.socket, Receive::paused);
  }
  const bool much = exchange.request_body.remaining() > base::BlockPool::large_size;
  core_.reactor.receive(client.socket, much ? Receive::bulk : Receive::watchful);
}

// True: the kernel moves the rest, or will as soon as the endpoint has taken what was sent before.
bool Exchanges::pump_request(Exchange& exchange, ClientConnection& client, BackendConnection& backend) {
  const wire::BodyReader& body = exchange.request_body;
  const bool fits = body.framing() == wire::Framing::length && body.remaining() >= pump_bytes_min &&
                    client.secure == nullptr && client.input.empty();
  if (!fits) return false;
  core_.reactor.receive(client.socket, Receive::paused);
  if (core_.reactor.unsent(backend.socket) > 0) return true;
  exchange.replayable = false;
  exchange.kept.clear();
  exchange.pumping_request = true;
  core_.reactor.pump(client.socket, backend.socket, body.remaining());
  return true;
}

void Exchanges::on_backend_drained(Handle handle) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr || exchange->pumping_request) return;
  if (exchange->life.is(State::uploading) || exchange->life.is(State::crossing)) return request_moved(*exchange);
  if (exchange->life.is(State::tunnelling)) {
    core_.reactor.receive(core_.clients->find(exchange->client)->socket, Receive::watchful);
    arm_for_state(*exchange);
  }
}

void Exchanges::on_pumped(Handle handle, OwnerKind from, std::uint64_t moved, bool done) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr) return;
  arm_for_state(*exchange);
  if (from == owner_client) {
    exchange->request_body.skip(moved);
    exchange->request_bytes += moved;
    core_.counters.client_bytes_in += moved;
    core_.counters.backend_bytes_out += moved;
    if (!done) return;
    exchange->pumping_request = false;
    return request_moved(*exchange);
  }
  exchange->response_body.skip(moved);
  exchange->response_sent += moved;
  core_.counters.backend_bytes_in += moved;
  core_.counters.client_bytes_out += moved;
  if (!done) return;
  exchange->pumping_response = false;
  if (exchange->response_body.complete()) complete(*exchange);
}

}  // namespace ebb::gate
