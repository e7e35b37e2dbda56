#include "gate/tunnel.h"

#include "gate/deadlines.h"
#include "gate/exchanges.h"
#include "gate/response_path.h"

namespace ebb::gate {

using base::Cause;
using base::Chain;
using base::Handle;
using base::Slice;
using reactor::Receive;
using RequestEvent = lifecycle::RequestHalfLife::Event;
using ResponseEvent = lifecycle::ResponseHalfLife::Event;
using ResponseState = lifecycle::ResponseHalfLife::State;

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

Chain chain_of(Slice&& bytes) {
  Chain chain;
  chain.push(std::move(bytes));
  return chain;
}

}  // namespace

void Tunnel::begin(Exchange& exchange) {
  Exchanges& exchanges = *core_.exchanges;
  exchanges.step(exchange, lifecycle::ExchangeLife::Event::tunnel);
  exchanges.step(exchange, exchange.request.life, RequestEvent::tunnel);
  exchanges.step(exchange, exchange.response.life, ResponseEvent::tunnel);
  exchanges.step(exchange, exchange.attempt->life, lifecycle::AttemptLife::Event::tunnel);
  core_.deadlines->begin_tunnel(exchange);
  if (exchange.request.wants == Wants::websocket) exchange.websocket = std::make_unique<WebsocketWays>();
  Back& back = *exchange.attempt->back;
  const Handle end = exchange.attempt->end;
  back.become_tunnel(end);
  exchange.front->become_tunnel(exchange.client);
  Chain late = back.early_bytes(end);
  if (exchange.websocket != nullptr) follow(late, exchange.websocket->to_client);
  exchange.response.out.push(std::move(late));
  if (!core_.response_path->flush(exchange)) return;
  Chain early = exchange.front->early_bytes(exchange.client);
  if (exchange.websocket != nullptr) follow(early, exchange.websocket->to_backend);
  if (!early.empty()) {
    back.flush(end, std::move(early));
    if (exchange.life.ended()) return;
    // A stream's client may have filled its window with them: it opens again, as in pass().
    const bool stuck = exchanges.stuck(exchange, exchange.to_backend());
    if (exchange.life.ended()) return;
    if (!stuck) exchange.front->receive(exchange.client, Receive::watchful);
  }
  back.receive(end, Receive::watchful);
  core_.deadlines->moved(exchange);
  if (exchange.front->finished(exchange.client)) on_client_finished(exchange);
}

void Tunnel::on_client_bytes(Handle handle, Slice bytes) {
  Exchange* exchange = core_.exchanges->live(handle);
  if (exchange == nullptr) return;
  exchange->request.bytes += bytes.size();
  if (exchange->websocket != nullptr) exchange->websocket->to_backend.take(bytes.view());
  pass(*exchange, exchange->to_backend(), std::move(bytes));
}

void Tunnel::on_backend_bytes(Handle handle, Slice bytes) {
  Exchange* exchange = core_.exchanges->live(handle);
  if (exchange == nullptr) return;
  exchange->response.sent += bytes.size();
  if (exchange->websocket != nullptr) exchange->websocket->to_client.take(bytes.view());
  pass(*exchange, exchange->to_client(), std::move(bytes));
}

// Sending, and looking what is stuck, may find that a stream or its connection is over, which ends the exchange.
void Tunnel::pass(Exchange& exchange, const Way& way, Slice bytes) {
  const Receive mode = mode_after(core_, bytes.size());
  way.to.flush(way.to_end, chain_of(std::move(bytes)));
  if (exchange.life.ended()) return;
  core_.deadlines->moved(exchange);
  const bool stuck = core_.exchanges->stuck(exchange, way);
  if (!exchange.life.ended()) way.from.receive(way.from_end, stuck ? Receive::paused : mode);
}

void Tunnel::on_client_finished(Exchange& exchange) {
  if (exchange.request.life.is(Request::State::finished)) return;
  core_.exchanges->step(exchange, exchange.request.life, RequestEvent::finished);
  if (exchange.response.life.is(ResponseState::finished)) {
    return core_.exchanges->finish(exchange, Cause::tunnel_closed);
  }
  exchange.attempt->back->finish(exchange.attempt->end);
  core_.deadlines->moved(exchange);
}

void Tunnel::on_backend_finished(Handle handle) {
  Exchange* exchange = core_.exchanges->live(handle);
  // TLS says so, and then the FIN does.
  if (exchange == nullptr || exchange->response.life.is(ResponseState::finished)) return;
  core_.exchanges->step(*exchange, exchange->response.life, ResponseEvent::finished);
  if (exchange->request.life.is(Request::State::finished)) {
    return core_.exchanges->finish(*exchange, Cause::tunnel_closed);
  }
  exchange->front->finish(exchange->client);
  core_.deadlines->moved(*exchange);
}

void Tunnel::on_client_drained(Exchange& exchange) {
  if (exchange.response.life.is(ResponseState::finished)) return;
  exchange.attempt->back->receive(exchange.attempt->end, Receive::watchful);
  core_.deadlines->moved(exchange);
}

void Tunnel::on_backend_drained(Exchange& exchange) {
  exchange.front->receive(exchange.client, Receive::watchful);
  core_.deadlines->moved(exchange);
}

void Tunnel::say_goodbye(Exchange& exchange) {
  if (exchange.websocket == nullptr || exchange.response.life.is(ResponseState::finished)) return;
  base::BlockPool& blocks = core_.reactor.blocks();
  const bool client_finished = exchange.front->finished(exchange.client);
  if (exchange.websocket->to_client.between_frames()) {
    exchange.front->flush(exchange.client, chain_of(blocks, wire::websocket_going_away));
    if (exchange.life.ended()) return;  // sending may find that a stream, or its connection, is over
    exchange.front->finish(exchange.client);
  }
  const std::optional<Attempt>& attempt = exchange.attempt;
  if (attempt && attempt->end && !client_finished && exchange.websocket->to_backend.between_frames()) {
    attempt->back->flush(attempt->end, chain_of(blocks, wire::websocket_going_away_masked));
    if (attempt && attempt->end) attempt->back->finish(attempt->end);
  }
}

}  // namespace ebb::gate
