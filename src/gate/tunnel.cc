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
Receive mode_after(const Core& core, std::size_t received) {
  return received >= base::BlockPool::body_size ? core.bulk() : Receive::watchful;
}

void follow(const Chain& bytes, wire::WebsocketFrames& frames) {
  for (std::uint32_t i = 0; i < bytes.slices(); ++i) frames.take(bytes[i].view());
}

template <std::size_t size>
Chain chain_of(base::BlockPool& blocks, const std::array<char, size>& text) {
  Chain chain;
  chain.append(blocks, std::string_view(text.data(), text.size()));
  return chain;
}

}  // namespace

void Exchanges::become_tunnel(Exchange& exchange, Event event) {
  step(exchange, event);
  begin_tunnel_age(exchange);
  if (exchange.websocket_asked) exchange.websocket = std::make_unique<WebsocketWays>();
  exchange.back->become_tunnel(exchange.backend);
  exchange.front->become_tunnel(exchange.client);
  Chain late = exchange.back->early_bytes(exchange.backend);
  if (exchange.websocket != nullptr) follow(late, exchange.websocket->to_client);
  exchange.to_client.push(std::move(late));
  if (!flush(exchange)) return;
  Chain early = exchange.front->early_bytes(exchange.client);
  if (exchange.websocket != nullptr) follow(early, exchange.websocket->to_backend);
  if (!early.empty()) exchange.back->flush(exchange.backend, std::move(early));
  if (exchange.life.ended()) return;
  exchange.back->receive(exchange.backend, Receive::watchful);
  arm_for_state(exchange);
  if (exchange.front->finished(exchange.client)) tunnel_finished(exchange, owner_client);
}

void Exchanges::on_tunnel_bytes_from_client(Handle handle, Slice bytes) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr) return;
  const Receive mode = mode_after(core_, bytes.size());
  exchange->request_bytes += bytes.size();
  if (exchange->websocket != nullptr) exchange->websocket->to_backend.take(bytes.view());
  Chain out;
  out.push(std::move(bytes));
  exchange->back->flush(exchange->backend, std::move(out));
  if (exchange->life.ended()) return;  // sending may find that the stream, or its connection, is over
  arm_for_state(*exchange);
  const bool stuck = backend_stuck(*exchange);
  if (!exchange->life.ended()) exchange->front->receive(exchange->client, stuck ? Receive::paused : mode);
}

void Exchanges::on_tunnel_bytes_from_backend(Handle handle, Slice bytes) {
  Exchange* found = live(handle);
  if (found == nullptr) return;
  Exchange& exchange = *found;
  const Receive mode = mode_after(core_, bytes.size());
  exchange.response_sent += bytes.size();
  if (exchange.websocket != nullptr) exchange.websocket->to_client.take(bytes.view());
  Chain out;
  out.push(std::move(bytes));
  exchange.front->flush(exchange.client, std::move(out));
  if (exchange.life.ended()) return;
  arm_for_state(exchange);
  const bool stuck = client_stuck(exchange);
  if (!exchange.life.ended()) exchange.back->receive(exchange.backend, stuck ? Receive::paused : mode);
}

void Exchanges::on_tunnel_end_from_backend(Handle handle) {
  if (Exchange* exchange = live(handle); exchange != nullptr) tunnel_finished(*exchange, owner_backend);
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

// A WebSocket is told that it ends, on each side on which it is between two frames. That is then the last word there:
// a stream of HTTP/2 that were reset instead would lose it.
void Exchanges::say_goodbye(Exchange& exchange) {
  if (exchange.websocket == nullptr || exchange.backend_finished) return;
  base::BlockPool& blocks = core_.reactor.blocks();
  const bool client_finished = exchange.front->finished(exchange.client);
  if (exchange.websocket->to_client.between_frames()) {
    exchange.front->flush(exchange.client, chain_of(blocks, wire::websocket_going_away));
    exchange.front->finish(exchange.client);
  }
  if (exchange.backend && !client_finished && exchange.websocket->to_backend.between_frames()) {
    exchange.back->flush(exchange.backend, chain_of(blocks, wire::websocket_going_away_masked));
    exchange.back->finish(exchange.backend);
  }
}

void Exchanges::close_tunnel(Exchange& exchange, Cause cause) {
  if (exchange.backend) exchange.back->close_tunnel(exchange.backend, cause);
  exchange.backend = {};
  step(exchange, cause == Cause::tunnel_closed ? Event::response_whole : Event::failed);
  end(exchange, cause);
  exchange.front->close_tunnel(exchange.client, cause);
}

}  // namespace ebb::gate
