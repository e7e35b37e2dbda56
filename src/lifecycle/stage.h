// Where an exchange stands, in one word: for its deadline, for the facts that users see, for what an endpoint has in
// flight. It follows from the exchange, its attempt and its halves, and is kept nowhere.
#pragma once

#include <string_view>

#include "lifecycle/attempt.h"
#include "lifecycle/exchange.h"

namespace ebb::lifecycle {

#define EBB_STAGES(X)                                                                   \
  X(choosing)                                                                           \
  X(held)                                                                               \
  X(connecting)                                                                         \
  X(uploading)   /* the request is on its way, no final head has come */                \
  X(awaiting)    /* the endpoint has the whole request */                               \
  X(crossing)    /* the response began before the request was whole: an early answer */ \
  X(downloading) /* only the response is left */                                        \
  X(tunnelling)                                                                         \
  X(ended)

enum class Stage : std::uint8_t { EBB_STAGES(EBB_ENUMERATOR) };
inline constexpr std::string_view stage_names[] = {EBB_STAGES(EBB_ENUMERATOR_NAME)};
constexpr std::string_view name(Stage stage) { return stage_names[static_cast<std::size_t>(stage)]; }

constexpr Stage stage(ExchangeLife::State exchange, AttemptLife::State attempt) {
  const bool sent = attempt == AttemptLife::State::sent;
  switch (exchange) {
    case ExchangeLife::State::choosing: return Stage::choosing;
    case ExchangeLife::State::held: return Stage::held;
    case ExchangeLife::State::trying:
      if (attempt == AttemptLife::State::connecting) return Stage::connecting;
      return sent ? Stage::awaiting : Stage::uploading;
    case ExchangeLife::State::answering: return sent ? Stage::downloading : Stage::crossing;
    case ExchangeLife::State::tunnelling: return Stage::tunnelling;
    case ExchangeLife::State::ended: break;
  }
  return Stage::ended;
}

}  // namespace ebb::lifecycle
