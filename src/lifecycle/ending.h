// How an exchange ends on each of its sides. All endings are in this one function, so that none of them can forget a
// side: gate/exchanges (finish) carries out what it says.
#pragma once

#include <cstdint>

#include "lifecycle/exchange.h"

namespace ebb::lifecycle {

enum class ToClient : std::uint8_t {
  nothing,       // it has left
  answer,        // by the router itself
  trailers,      // of gRPC: the status, behind the response that has begun
  release,       // the response is whole
  cut,           // it must be able to tell that the response is not whole
  close_tunnel,  // as far as both ends have finished
};

enum class ToBackend : std::uint8_t {
  cancel,   // its connection, or its stream, serves nobody else
  release,  // it may serve others
  close_tunnel,
};

struct Ending {
  ToClient client;
  ToBackend backend;
  friend constexpr bool operator==(const Ending&, const Ending&) = default;
};

// What the client knows of the end.
enum class ClientSide : std::uint8_t {
  waits,
  left,    // its connection, or its stream, is over
  leaves,  // it sends no more, which for most means that it has left; or a bug of ours ends the exchange
};

struct EndingFacts {
  ExchangeLife::State state = ExchangeLife::State::choosing;
  ClientSide client = ClientSide::waits;
  bool response_whole = false;
  bool has_answer = false;      // the router has one of its own, and the client speaks HTTP
  bool takes_trailers = false;  // a deadline of gRPC, which the client can be told in trailers
};

constexpr Ending ending(const EndingFacts& facts) {
  using State = ExchangeLife::State;
  if (facts.client == ClientSide::left) return {ToClient::nothing, ToBackend::cancel};
  if (facts.client == ClientSide::leaves) return {ToClient::cut, ToBackend::cancel};
  if (facts.state == State::tunnelling) return {ToClient::close_tunnel, ToBackend::close_tunnel};
  if (facts.response_whole) return {ToClient::release, ToBackend::release};
  if (facts.state == State::answering) {
    return {facts.takes_trailers ? ToClient::trailers : ToClient::cut, ToBackend::cancel};
  }
  return {facts.has_answer ? ToClient::answer : ToClient::cut, ToBackend::cancel};
}

}  // namespace ebb::lifecycle
