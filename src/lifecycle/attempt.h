// One attempt to have a request answered: how far one endpoint has got with it. A retry throws the attempt away and
// begins another one.
//
//   chosen ─▶ connecting ─▶ sending ─▶ sent ─▶ relaying ─▶ over
//      └──────────┼──────────▲                    ▲          ▲
//                 └───────────────────────────────┘          │ (from every state)
//
// chosen: counted at its endpoint. sending: the endpoint has the head. sent: it has the whole request. relaying: a
// tunnel.
#pragma once

#include "lifecycle/machine.h"

namespace ebb::lifecycle {

#define EBB_ATTEMPT_STATES(X) X(chosen) X(connecting) X(sending) X(sent) X(relaying) X(over)
#define EBB_ATTEMPT_EVENTS(X)                                   \
  X(connect) /* a connection opens */                           \
  X(lease)   /* a connection, or a stream of one, is there */   \
  X(sent)    /* the last byte of the request was given to it */ \
  X(tunnel)  /* bytes both ways from here on */                 \
  X(end)     /* it was answered, it failed, or nobody wants it more */

struct AttemptLife {
  enum class State : std::uint8_t { EBB_ATTEMPT_STATES(EBB_ENUMERATOR) };
  enum class Event : std::uint8_t { EBB_ATTEMPT_EVENTS(EBB_ENUMERATOR) };
  static constexpr std::string_view state_names[] = {EBB_ATTEMPT_STATES(EBB_ENUMERATOR_NAME)};
  static constexpr std::string_view event_names[] = {EBB_ATTEMPT_EVENTS(EBB_ENUMERATOR_NAME)};
  static constexpr State first = State::chosen;
  static constexpr State last = State::over;

  using S = State;
  using E = Event;
  static constexpr Row<State, Event> rows[] = {
      {S::chosen, E::connect, S::connecting},
      {S::chosen, E::lease, S::sending},
      {S::chosen, E::end, S::over},

      {S::connecting, E::lease, S::sending},
      {S::connecting, E::tunnel, S::relaying},  // TCP, or TLS that is passed through
      {S::connecting, E::end, S::over},

      {S::sending, E::sent, S::sent},
      {S::sending, E::end, S::over},

      {S::sent, E::tunnel, S::relaying},  // 101
      {S::sent, E::end, S::over},

      {S::relaying, E::end, S::over},
  };
};

using AttemptMachine = Machine<AttemptLife>;
static_assert(AttemptMachine::deterministic());
static_assert(AttemptMachine::last_is_terminal());
static_assert(AttemptMachine::all_reach_last());
static_assert(AttemptMachine::every_live_state_has(AttemptLife::Event::end));

}  // namespace ebb::lifecycle
