// The endpoint's half of an exchange: how much of the response the client has been given. It is the same for every
// version of HTTP.
//
//   awaited ─▶ passing ─▶ pumped ─▶ whole ─▶ over
//      │          │ └────────────────▲        ▲
//      └──────────┴──▶ relaying ─▶ finished ──┘     (from every state)
//
// awaited: nothing but interim heads. pumped: the kernel moves the rest of the body (splice). whole: its end was handed
// on, so that the exchange is complete. relaying: a tunnel. finished: the tunnel's endpoint sends no more.
#pragma once

#include "lifecycle/machine.h"

namespace ebb::lifecycle {

#define EBB_RESPONSE_STATES(X) X(awaited) X(passing) X(pumped) X(whole) X(relaying) X(finished) X(over)
#define EBB_RESPONSE_EVENTS(X)                                \
  X(began)    /* the final head is handed on */               \
  X(pump)     /* the kernel moves the rest */                 \
  X(whole)    /* the last byte is handed on */                \
  X(tunnel)   /* bytes from here on */                        \
  X(finished) /* of the tunnel: the endpoint sends no more */ \
  X(end)      /* the exchange is over */

struct ResponseHalfLife {
  enum class State : std::uint8_t { EBB_RESPONSE_STATES(EBB_ENUMERATOR) };
  enum class Event : std::uint8_t { EBB_RESPONSE_EVENTS(EBB_ENUMERATOR) };
  static constexpr std::string_view state_names[] = {EBB_RESPONSE_STATES(EBB_ENUMERATOR_NAME)};
  static constexpr std::string_view event_names[] = {EBB_RESPONSE_EVENTS(EBB_ENUMERATOR_NAME)};
  static constexpr State first = State::awaited;
  static constexpr State last = State::over;

  using S = State;
  using E = Event;
  static constexpr Row<State, Event> rows[] = {
      {S::awaited, E::began, S::passing},
      {S::awaited, E::tunnel, S::relaying},  // TCP, or TLS that is passed through
      {S::awaited, E::end, S::over},

      {S::passing, E::pump, S::pumped},
      {S::passing, E::whole, S::whole},
      {S::passing, E::tunnel, S::relaying},  // 101
      {S::passing, E::end, S::over},

      {S::pumped, E::whole, S::whole},
      {S::pumped, E::end, S::over},

      {S::whole, E::end, S::over},

      {S::relaying, E::finished, S::finished},
      {S::relaying, E::end, S::over},

      {S::finished, E::end, S::over},
  };
};

using ResponseHalf = Machine<ResponseHalfLife>;
static_assert(ResponseHalf::deterministic());
static_assert(ResponseHalf::last_is_terminal());
static_assert(ResponseHalf::all_reach_last());
static_assert(ResponseHalf::every_live_state_has(ResponseHalfLife::Event::end));

}  // namespace ebb::lifecycle
