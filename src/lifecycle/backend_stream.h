// The life of a stream to an endpoint that speaks HTTP/2: the endpoint's half of one exchange.
//
//   waiting ──▶ lent ──▶ tunnelling ──▶ finished
//      │         │           │              │
//      └─────────┴───────────┴──────────────┴──▶ over
//
// waiting: for the endpoint's SETTINGS, which say how many streams it takes. lent: it carries its exchange's request
// and the response. finished: our half of the tunnel has ended. Whether the exchange ended it or the endpoint, it is
// over at once: what the endpoint still sends has no reader.
#pragma once

#include "lifecycle/machine.h"

namespace ebb::lifecycle {

#define EBB_BACKEND_STREAM_STATES(X) X(waiting) X(lent) X(tunnelling) X(finished) X(over)
#define EBB_BACKEND_STREAM_EVENTS(X)                        \
  X(admitted) /* its connection has room for it */          \
  X(upgraded) /* its exchange became a tunnel */            \
  X(finished) /* of a tunnel: nothing more goes that way */ \
  X(ended)    /* released, reset by a side, or its connection closes */

struct BackendStreamLife {
  enum class State : std::uint8_t { EBB_BACKEND_STREAM_STATES(EBB_ENUMERATOR) };
  enum class Event : std::uint8_t { EBB_BACKEND_STREAM_EVENTS(EBB_ENUMERATOR) };
  static constexpr std::string_view state_names[] = {EBB_BACKEND_STREAM_STATES(EBB_ENUMERATOR_NAME)};
  static constexpr std::string_view event_names[] = {EBB_BACKEND_STREAM_EVENTS(EBB_ENUMERATOR_NAME)};
  static constexpr State first = State::waiting;
  static constexpr State last = State::over;

  using S = State;
  using E = Event;
  static constexpr Row<State, Event> rows[] = {
      {S::waiting, E::admitted, S::lent},        {S::waiting, E::ended, S::over},

      {S::lent, E::upgraded, S::tunnelling},     {S::lent, E::ended, S::over},

      {S::tunnelling, E::finished, S::finished}, {S::tunnelling, E::ended, S::over},

      {S::finished, E::ended, S::over},
  };

  static constexpr bool tunnels(State state) { return state == S::tunnelling || state == S::finished; }
};

using BackendStreamMachine = Machine<BackendStreamLife>;
static_assert(BackendStreamMachine::deterministic());
static_assert(BackendStreamMachine::last_is_terminal());
static_assert(BackendStreamMachine::all_reach_last());
static_assert(BackendStreamMachine::every_live_state_has(BackendStreamLife::Event::ended));

}  // namespace ebb::lifecycle
