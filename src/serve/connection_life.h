// The life of a connection of a small server.
//
//   greeting ──▶ securing (TLS)
//      │            │    └───────┐
//      ▼            ▼            ▼
//     open ◀────────┘        parting ──▶ closed
//      └─── the last answer ─────▲
//
// `greeting`: a port that accepts TLS and plain text waits for the first byte. `open`: protocol.h lists what an open
// connection may wait for. `parting` (RFC 9112 section 9.6): our side has finished; input is read and dropped, because
// a reset would destroy the last answer. The server arms a deadline in every state but the last.
#pragma once

#include "lifecycle/machine.h"

namespace ebb::serve {

#define EBB_SERVED_STATES(X) X(greeting) X(securing) X(open) X(parting) X(closed)
#define EBB_SERVED_EVENTS(X)                            \
  X(handshake) /* TLS begins */                         \
  X(plain)     /* there is no TLS */                    \
  X(secured)   /* the handshake is done */              \
  X(last)      /* what was given to send is the last */ \
  X(ended)

struct ConnectionLife {
  enum class State : std::uint8_t { EBB_SERVED_STATES(EBB_ENUMERATOR) };
  enum class Event : std::uint8_t { EBB_SERVED_EVENTS(EBB_ENUMERATOR) };
  static constexpr std::string_view state_names[] = {EBB_SERVED_STATES(EBB_ENUMERATOR_NAME)};
  static constexpr std::string_view event_names[] = {EBB_SERVED_EVENTS(EBB_ENUMERATOR_NAME)};
  static constexpr State first = State::greeting;
  static constexpr State last = State::closed;

  using S = State;
  using E = Event;
  static constexpr lifecycle::Row<State, Event> rows[] = {
      {S::greeting, E::handshake, S::securing}, {S::greeting, E::plain, S::open},   {S::greeting, E::ended, S::closed},
      {S::securing, E::secured, S::open},       {S::securing, E::last, S::parting}, {S::securing, E::ended, S::closed},
      {S::open, E::last, S::parting},           {S::open, E::ended, S::closed},     {S::parting, E::ended, S::closed},
  };
};

using ConnectionMachine = lifecycle::Machine<ConnectionLife>;
static_assert(ConnectionMachine::deterministic());
static_assert(ConnectionMachine::last_is_terminal());
static_assert(ConnectionMachine::all_reach_last());
static_assert(ConnectionMachine::every_live_state_has(ConnectionLife::Event::ended));

}  // namespace ebb::serve
