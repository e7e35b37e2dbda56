// After 101 the exchange is a pair of byte streams. Each half ends on its own; when both have, or nothing has moved
// for the tunnel's idle time, the tunnel is over.
//
// Before: gate/response_path.
#include "gate/backends.h"
#include "gate/exchanges.h"

namespace ebb::gate {

using base::Cause;
using base::Chain;
using base::Handle;
using base::Slice;
using reactor::CloseMode;
using reactor::Receive;

void Exchanges::become_tunnel(Exchange& exchange, ClientConnection& client, BackendConnection& backend, Chain&& head) {
  step(exchange, Event::upgraded);
  if (!backend.life.step(lifecycle::BackendConnectionLife::Event::upgraded)) core_.counters.missing_transitions += 1;
  core_.clients->become_tunnel(client);
  head.push(std::move(backend.input));
  core_.clients->send(client, std::move(head));
  if (!client.input.empty()) {
    core_.counters.backend_bytes_out += client.input.bytes();
    core_.reactor.send(backend.socket, std::move(client.input));
  }
  core_.reactor.receive(backend.socket, Receive::watchful);
  arm_for_state(exchange);
  if (client.finished) tunnel_finished(exchange, owner_client);
}

void Exchanges::on_tunnel_bytes_from_client(Handle handle, Slice bytes) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr) return;
  BackendConnection& backend = *core_.backends->find(exchange->backend);
  exchange->request_bytes += bytes.size();
  core_.counters.backend_bytes_out += bytes.size();
  Chain out;
  out.push(std::move(bytes));
  core_.reactor.send(backend.socket, std::move(out));
  arm_for_state(*exchange);
  if (core_.reactor.unsent(backend.socket) > output_high_water) {
    core_.reactor.receive(core_.clients->find(exchange->client)->socket, Receive::paused);
  }
}

void Exchanges::on_tunnel_bytes_from_backend(Exchange& exchange, Slice bytes) {
  ClientConnection& client = *core_.clients->find(exchange.client);
  exchange.response_sent += bytes.size();
  Chain out;
  out.push(std::move(bytes));
  core_.clients->send(client, std::move(out));
  arm_for_state(exchange);
  if (core_.clients->unsent(client) > output_high_water) {
    core_.reactor.receive(core_.backends->find(exchange.backend)->socket, Receive::paused);
  }
}

// One side sends no more: the other is told so, and may go on sending.
void Exchanges::tunnel_finished(Exchange& exchange, OwnerKind side) {
  ClientConnection& client = *core_.clients->find(exchange.client);
  if (side == owner_backend) exchange.backend_finished = true;
  if (client.finished && exchange.backend_finished) return close_tunnel(exchange, Cause::tunnel_closed);
  if (side == owner_client) {
    core_.reactor.finish(core_.backends->find(exchange.backend)->socket);
  } else {
    core_.clients->finish(client);
  }
  arm_for_state(exchange);
}

void Exchanges::close_tunnel(Exchange& exchange, Cause cause) {
  if (exchange.backend) core_.backends->close(exchange.backend, cause, CloseMode::flush);
  exchange.backend = {};
  step(exchange, cause == Cause::tunnel_closed ? Event::response_whole : Event::failed);
  end(exchange, cause);
  core_.clients->close(exchange.client, cause, CloseMode::flush);
}

}  // namespace ebb::gate
