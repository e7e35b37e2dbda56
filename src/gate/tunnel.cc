// After 101, or from the start, the exchange is a pair of byte streams. Each half ends on its own; when both have, or
// nothing has moved for the tunnel's idle time, the tunnel is over.
//
// Before: gate/response_path.
#include "gate/exchanges.h"

namespace ebb::gate {

using base::Cause;
using base::Chain;
using base::Handle;
using base::Slice;
using reactor::Receive;

namespace {

// A full block is seldom the last of its kind.
Receive mode_after(std::size_t received) {
  return received >= base::BlockPool::body_size ? Receive::bulk : Receive::watchful;
}

}  // namespace

void Exchanges::become_tunnel(Exchange& exchange, Event event) {
  step(exchange, event);
  begin_tunnel_age(exchange);
  exchange.back->become_tunnel(exchange.backend);
  exchange.front->become_tunnel(exchange.client);
  exchange.to_client.push(exchange.back->early_bytes(exchange.backend));
  flush(exchange);
  Chain early = exchange.front->early_bytes(exchange.client);
  if (!early.empty()) exchange.back->flush(exchange.backend, std::move(early));
  exchange.back->receive(exchange.backend, Receive::watchful);
  arm_for_state(exchange);
  if (exchange.front->finished(exchange.client)) tunnel_finished(exchange, owner_client);
}

void Exchanges::on_tunnel_bytes_from_client(Handle handle, Slice bytes) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr) return;
  const Receive mode = mode_after(bytes.size());
  exchange->request_bytes += bytes.size();
  Chain out;
  out.push(std::move(bytes));
  exchange->back->flush(exchange->backend, std::move(out));
  arm_for_state(*exchange);
  const bool stuck = exchange->back->unsent(exchange->backend) > exchange->back->patience();
  exchange->front->receive(exchange->client, stuck ? Receive::paused : mode);
}

void Exchanges::on_tunnel_bytes_from_backend(Exchange& exchange, Slice bytes) {
  const Receive mode = mode_after(bytes.size());
  exchange.response_sent += bytes.size();
  Chain out;
  out.push(std::move(bytes));
  exchange.front->flush(exchange.client, std::move(out));
  arm_for_state(exchange);
  const bool stuck = exchange.front->unsent(exchange.client) > exchange.front->patience();
  exchange.back->receive(exchange.backend, stuck ? Receive::paused : mode);
}

// One side sends no more: the other is told so, and may go on sending.
void Exchanges::tunnel_finished(Exchange& exchange, OwnerKind side) {
  if (side == owner_backend) exchange.backend_finished = true;
  const bool client_finished = exchange.front->finished(exchange.client);
  if (client_finished && exchange.backend_finished) return close_tunnel(exchange, Cause::tunnel_closed);
  if (side == owner_client) {
    exchange.back->finish(exchange.backend);
  } else {
    exchange.front->finish(exchange.client);
  }
  arm_for_state(exchange);
}

void Exchanges::close_tunnel(Exchange& exchange, Cause cause) {
  if (exchange.backend) exchange.back->close_tunnel(exchange.backend, cause);
  exchange.backend = {};
  step(exchange, cause == Cause::tunnel_closed ? Event::response_whole : Event::failed);
  end(exchange, cause);
  exchange.front->close_tunnel(exchange.client, cause);
}

}  // namespace ebb::gate
