// The life of a connection to an endpoint.
//
//   connecting ──▶ leased ◀──▶ idle       an exchange leases it; an idle one waits in the pool of its endpoint
//       │            ▲ │          │
//       ▼            │ │          │       securing: TLS with the endpoint
//    securing ───────┘ │          │
//                      ├──▶ tunnelling    one exchange has it to its end
//                      ├──▶ multiplexing  HTTP/2: exchanges side by side; idle when it has none
//                      ▼          ▼
//                          closed
#pragma once

#include "lifecycle/machine.h"

namespace ebb::lifecycle {

#define EBB_BACKEND_STATES(X) X(connecting) X(securing) X(leased) X(idle) X(tunnelling) X(multiplexing) X(closed)
#define EBB_BACKEND_EVENTS(X)                                        \
  X(connected)   /* and nothing but HTTP/1 to agree on */            \
  X(handshake)   /* connected; TLS begins */                         \
  X(secured)     /* TLS is there */                                  \
  X(multiplexed) /* it speaks HTTP/2 */                              \
  X(lease)       /* an exchange takes it */                          \
  X(release)     /* its exchange is over and it may serve another */ \
  X(upgraded)    /* its exchange became a tunnel */                  \
  X(ended)       /* it closes; the Cause says why */

struct BackendConnectionLife {
  enum class State : std::uint8_t { EBB_BACKEND_STATES(EBB_ENUMERATOR) };
  enum class Event : std::uint8_t { EBB_BACKEND_EVENTS(EBB_ENUMERATOR) };
  static constexpr std::string_view state_names[] = {EBB_BACKEND_STATES(EBB_ENUMERATOR_NAME)};
  static constexpr std::string_view event_names[] = {EBB_BACKEND_EVENTS(EBB_ENUMERATOR_NAME)};
  static constexpr State first = State::connecting;
  static constexpr State last = State::closed;

  using S = State;
  using E = Event;
  static constexpr Row<State, Event> rows[] = {
      {S::connecting, E::connected, S::leased}, {S::connecting, E::handshake, S::securing},
      {S::connecting, E::ended, S::closed},

      {S::securing, E::secured, S::leased},     {S::securing, E::ended, S::closed},

      {S::leased, E::release, S::idle},         {S::leased, E::multiplexed, S::multiplexing},
      {S::leased, E::upgraded, S::tunnelling},  {S::leased, E::ended, S::closed},

      {S::idle, E::lease, S::leased},           {S::idle, E::ended, S::closed},

      {S::multiplexing, E::ended, S::closed},

      {S::tunnelling, E::ended, S::closed},
  };
};

using BackendConnectionMachine = Machine<BackendConnectionLife>;
static_assert(BackendConnectionMachine::deterministic());
static_assert(BackendConnectionMachine::last_is_terminal());
static_assert(BackendConnectionMachine::all_reach_last());
static_assert(BackendConnectionMachine::every_live_state_has(BackendConnectionLife::Event::ended));

}  // namespace ebb::lifecycle
