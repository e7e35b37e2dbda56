// The life of a flow: the datagrams of one client to one listener, and their answers.
//
//   unplaced ◀──▶ placed ──▶ finishing      unplaced: its next datagram chooses an endpoint
//       │           │            │          finishing: the router stops and an answer is owed
//       ▼           ▼            ▼
//                 ended
#pragma once

#include "lifecycle/machine.h"

namespace ebb::lifecycle {

#define EBB_FLOW_STATES(X) X(unplaced) X(placed) X(finishing) X(ended)
#define EBB_FLOW_EVENTS(X)                                             \
  X(chosen)    /* an endpoint, for the datagram in hand */             \
  X(refused)   /* the endpoint cannot be reached */                    \
  X(withdrawn) /* the endpoint is to get nothing more */               \
  X(stopping)  /* the router stops before the endpoint has answered */ \
  X(answered)  /* after stopping */                                    \
  X(deadline)  /* nothing came either way for too long */              \
  X(ended)     /* by our will: listener gone, too many flows, nothing owed */

struct FlowLife {
  enum class State : std::uint8_t { EBB_FLOW_STATES(EBB_ENUMERATOR) };
  enum class Event : std::uint8_t { EBB_FLOW_EVENTS(EBB_ENUMERATOR) };
  static constexpr std::string_view state_names[] = {EBB_FLOW_STATES(EBB_ENUMERATOR_NAME)};
  static constexpr std::string_view event_names[] = {EBB_FLOW_EVENTS(EBB_ENUMERATOR_NAME)};
  static constexpr State first = State::unplaced;
  static constexpr State last = State::ended;

  using S = State;
  using E = Event;
  static constexpr Row<State, Event> rows[] = {
      {S::unplaced, E::chosen, S::placed},    {S::unplaced, E::deadline, S::ended},
      {S::unplaced, E::ended, S::ended},

      {S::placed, E::refused, S::unplaced},   {S::placed, E::withdrawn, S::unplaced},
      {S::placed, E::stopping, S::finishing}, {S::placed, E::deadline, S::ended},
      {S::placed, E::ended, S::ended},

      {S::finishing, E::refused, S::ended},   {S::finishing, E::answered, S::ended},
      {S::finishing, E::deadline, S::ended},  {S::finishing, E::ended, S::ended},
  };
};

using FlowMachine = Machine<FlowLife>;
static_assert(FlowMachine::deterministic());
static_assert(FlowMachine::last_is_terminal());
static_assert(FlowMachine::all_reach_last());
static_assert(FlowMachine::every_live_state_has(FlowLife::Event::deadline), "no deadline: a leak");
static_assert(FlowMachine::every_live_state_has(FlowLife::Event::ended));

}  // namespace ebb::lifecycle
