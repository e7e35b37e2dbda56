// The answer's way from the endpoint to the client: heads (1xx too), body framing, back-pressure, the honest end.
//
// Before: gate/request_path. Next: the client's connection waits for its next request (gate/clients), the endpoint's
// goes back to its pool (gate/backends).
#include "gate/backends.h"
#include "gate/exchanges.h"
#include "gate/gather.h"
#include "gate/payload.h"

namespace ebb::gate {

using base::Cause;
using base::Chain;
using base::Handle;
using base::Slice;
using reactor::CloseMode;
using reactor::Receive;
using wire::Framing;
using wire::Parsed;

void Exchanges::on_response_bytes(Handle handle, Slice bytes) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr) return;
  if (exchange->life.is(State::tunnelling)) return on_tunnel_bytes_from_backend(*exchange, std::move(bytes));
  ClientConnection& client = *core_.clients->find(exchange->client);
  BackendConnection& backend = *core_.backends->find(exchange->backend);
  if (!exchange->response_bytes) {
    exchange->response_bytes = true;
    exchange->first_byte = core_.reactor.now();
  }
  backend.input.push(std::move(bytes));
  Chain out;
  if (!response_has_begun(*exchange) && !read_response_heads(*exchange, client, backend, out)) return;
  take_response_body(*exchange, backend, out);
}

// Interim heads go on to the client as they come (RFC 9110 15.2); the final one begins the response. False: nothing
// more to do now.
bool Exchanges::read_response_heads(Exchange& exchange, ClientConnection& client, BackendConnection& backend,
                                    Chain& out) {
  const wire::HeadLimits limits = core_.head_limits();
  while (!backend.input.empty()) {
    if (backend.input.slices() > 1) gather(core_.reactor.blocks(), backend.input, limits.head_bytes);
    const Parsed parsed = wire::parse_response(backend.input.front().view(), limits, exchange.method, core_.response);
    if (parsed.status == Parsed::Status::incomplete) {
      gather(core_.reactor.blocks(), backend.input, limits.head_bytes);
      break;
    }
    const wire::ResponseHead& head = core_.response;
    const bool unasked = head.status == 101 && (!exchange.upgrade_asked || !request_is_whole(exchange));
    if (parsed.status == Parsed::Status::refused || unasked) {
      fail(exchange, Event::failed, Cause::backend_bad_response);
      return false;
    }
    if (!head.interim()) {
      begin_response(exchange, client, head, out);
      backend.input.drop_front(parsed.consumed);
      if (head.status == 101) {
        become_tunnel(exchange, client, backend, std::move(out));
        return false;
      }
      return true;
    }
    // HTTP/1.0 has no interim responses.
    if (exchange.client_minor > 0) out.push(wire::write_response(core_.reactor.blocks(), head, {.client_minor = 1}));
    backend.input.drop_front(parsed.consumed);
  }
  if (!out.empty()) core_.clients->send(client, std::move(out));
  return false;
}

void Exchanges::begin_response(Exchange& exchange, ClientConnection& client, const wire::ResponseHead& head,
                               Chain& out) {
  step(exchange, Event::response_began);
  exchange.kept.clear();
  exchange.status = head.status;
  exchange.response_body = wire::BodyReader(head.framing, head.content_length);
  exchange.keep_backend = head.keep_alive && head.framing != Framing::until_close;
  const bool length_unknown = head.framing == Framing::chunked || head.framing == Framing::until_close;
  exchange.response_chunked = length_unknown && exchange.client_minor > 0;
  exchange.close_delimited = length_unknown && exchange.client_minor == 0;
  exchange.keep_client = exchange.client_keeps && request_is_whole(exchange) && !exchange.close_delimited &&
                         !client.finished && !core_.stopping;
  out.push(wire::write_response(core_.reactor.blocks(), head,
                                {.client_minor = exchange.client_minor,
                                 .keep_alive = exchange.keep_client,
                                 .chunked = exchange.response_chunked}));
}

void Exchanges::take_response_body(Exchange& exchange, BackendConnection& backend, Chain& out) {
  ClientConnection& client = *core_.clients->find(exchange.client);
  wire::BodyReader& body = exchange.response_body;
  bool broken = false;
  while (!backend.input.empty() && !body.complete() && !broken) {
    const Slice& front = backend.input.front();
    const wire::BodyReader::Step step = body.next(front.view());
    broken = step.status == wire::BodyReader::Step::Status::refused;
    append_payload(core_.reactor.blocks(), out, front, step.payload_at, step.payload_size, exchange.response_chunked);
    exchange.response_sent += step.payload_size;
    if (!broken) backend.input.drop_front(step.consumed);
  }
  if (body.complete() && exchange.response_chunked) {
    append_last_chunk(core_.reactor.blocks(), out, body.trailers());
  }
  if (!out.empty()) core_.clients->send(client, std::move(out));
  if (broken) return cut_short(exchange, Cause::backend_bad_response);
  if (body.complete()) return complete(exchange);
  response_moved(exchange);
}

// After each step of the response: who is to move next.
void Exchanges::response_moved(Exchange& exchange) {
  ClientConnection& client = *core_.clients->find(exchange.client);
  BackendConnection& backend = *core_.backends->find(exchange.backend);
  arm_for_state(exchange);
  if (pump_response(exchange, client, backend)) return;
  if (core_.clients->unsent(client) > output_high_water) return core_.reactor.receive(backend.socket, Receive::paused);
  core_.reactor.receive(backend.socket, Receive::bulk);
}

bool Exchanges::pump_response(Exchange& exchange, ClientConnection& client, BackendConnection& backend) {
  const wire::BodyReader& body = exchange.response_body;
  const bool fits = body.framing() == Framing::length && body.remaining() >= pump_bytes_min && client.secure == nullptr;
  if (!fits) return false;
  core_.reactor.receive(backend.socket, Receive::paused);
  if (core_.clients->unsent(client) > 0) return true;  // on_client_drained comes back here
  exchange.pumping_response = true;
  core_.reactor.pump(backend.socket, client.socket, body.remaining());
  return true;
}

void Exchanges::on_client_drained(Handle handle) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr || exchange->pumping_response) return;
  if (response_has_begun(*exchange)) return response_moved(*exchange);
  if (exchange->life.is(State::tunnelling) && !exchange->backend_finished) {
    core_.reactor.receive(core_.backends->find(exchange->backend)->socket, Receive::watchful);
    arm_for_state(*exchange);
  }
}

void Exchanges::complete(Exchange& exchange) {
  ClientConnection& client = *core_.clients->find(exchange.client);
  const bool whole = request_is_whole(exchange);
  const bool clean = core_.backends->find(exchange.backend)->input.empty();
  if (whole && clean && exchange.keep_backend) {
    core_.backends->release(exchange.backend);
  } else {
    core_.backends->close(exchange.backend, Cause::close_requested);
  }
  exchange.backend = {};
  step(exchange, Event::response_whole);
  end(exchange, Cause::completed);
  if (exchange.keep_client) {
    core_.clients->exchange_kept(client);
  } else {
    core_.clients->exchange_last(client, whole);
  }
}

// The response began and cannot be completed. The client must be able to tell: a body with a length or chunks is
// simply not ended; where only the close delimits it, nothing but a reset says that it is incomplete.
void Exchanges::cut_short(Exchange& exchange, Cause cause) {
  if (exchange.backend) core_.backends->close(exchange.backend, cause);
  exchange.backend = {};
  const bool reset = exchange.close_delimited || cause == Cause::client_write_timeout;
  step(exchange, Event::failed);
  end(exchange, cause);
  core_.clients->close(exchange.client, cause, reset ? CloseMode::reset : CloseMode::flush);
}

void Exchanges::on_backend_finished(Handle handle) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr) return;
  if (exchange->life.is(State::tunnelling)) return tunnel_finished(*exchange, owner_backend);
  if (!response_has_begun(*exchange)) {
    const Cause cause = exchange->response_bytes ? Cause::backend_truncated : Cause::backend_closed;
    core_.backends->close(exchange->backend, cause);
    exchange->backend = {};
    return retry_or_fail(*exchange, cause);
  }
  if (exchange->response_body.framing() != Framing::until_close) return cut_short(*exchange, Cause::backend_truncated);
  if (exchange->response_chunked) {
    Chain out;
    append_last_chunk(core_.reactor.blocks(), out, {});
    core_.clients->send(*core_.clients->find(exchange->client), std::move(out));
  }
  complete(*exchange);
}

}  // namespace ebb::gate
