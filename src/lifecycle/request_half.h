// The client's half of an exchange: how much of the request has come. It is the same for every version of HTTP, and
// outlives attempts: what has come stays.
//
//   arriving ─▶ pumped ─▶ whole ─▶ relaying ─▶ finished ─▶ over
//       └──────────────────▲ │         ▲                    ▲
//       └────────────────────┴─────────┘     (from every state)
//
// pumped: the kernel moves the rest of the body (splice). relaying: a tunnel, whose client sends what it likes.
// finished: the tunnel's client sends no more.
#pragma once

#include "lifecycle/machine.h"

namespace ebb::lifecycle {

#define EBB_REQUEST_STATES(X) X(arriving) X(pumped) X(whole) X(relaying) X(finished) X(over)
#define EBB_REQUEST_EVENTS(X)                               \
  X(pump)     /* the kernel moves the rest */               \
  X(whole)    /* the last byte of the request has come */   \
  X(tunnel)   /* bytes from here on */                      \
  X(finished) /* of the tunnel: the client sends no more */ \
  X(end)      /* the exchange is over */

struct RequestHalfLife {
  enum class State : std::uint8_t { EBB_REQUEST_STATES(EBB_ENUMERATOR) };
  enum class Event : std::uint8_t { EBB_REQUEST_EVENTS(EBB_ENUMERATOR) };
  static constexpr std::string_view state_names[] = {EBB_REQUEST_STATES(EBB_ENUMERATOR_NAME)};
  static constexpr std::string_view event_names[] = {EBB_REQUEST_EVENTS(EBB_ENUMERATOR_NAME)};
  static constexpr State first = State::arriving;
  static constexpr State last = State::over;

  using S = State;
  using E = Event;
  static constexpr Row<State, Event> rows[] = {
      {S::arriving, E::pump, S::pumped},
      {S::arriving, E::whole, S::whole},
      {S::arriving, E::tunnel, S::relaying},  // TCP, or TLS that is passed through
      {S::arriving, E::end, S::over},

      {S::pumped, E::whole, S::whole},
      {S::pumped, E::end, S::over},

      {S::whole, E::tunnel, S::relaying},  // 101
      {S::whole, E::end, S::over},

      {S::relaying, E::finished, S::finished},
      {S::relaying, E::end, S::over},

      {S::finished, E::end, S::over},
  };
};

using RequestHalf = Machine<RequestHalfLife>;
static_assert(RequestHalf::deterministic());
static_assert(RequestHalf::last_is_terminal());
static_assert(RequestHalf::all_reach_last());
static_assert(RequestHalf::every_live_state_has(RequestHalfLife::Event::end));

}  // namespace ebb::lifecycle
