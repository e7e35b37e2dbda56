// The life of a client's stream of HTTP/2 (RFC 9113 5.1), from the head of its request. Each half ends on its own; in a
// tunnel too, where the request is what the client sends and the response what it gets.
//
//   open ──── request whole ───▶ whole ───── response whole ──▶ complete
//     │                                                           ▲  │
//   response whole                                                │ released
//     ▼                                                           │  ▼
//   answered ──────────────────────────────── request whole ──────┘ over
//     │                                                              ▲
//   released ──▶ discarding ───────────────── request whole ─────────┘
//
// answered: all of the response was given to the codec, and the request still arrives. discarding: its exchange is over
// as well; what comes is thrown away, so that the client gets to read the response. From any state `ended` leads to
// over.
#pragma once

#include "lifecycle/machine.h"

namespace ebb::lifecycle {

#define EBB_CLIENT_STREAM_STATES(X) X(open) X(whole) X(answered) X(complete) X(discarding) X(over)
#define EBB_CLIENT_STREAM_EVENTS(X)                                \
  X(request_whole)  /* the client has sent all */                  \
  X(response_whole) /* so have we */                               \
  X(released)       /* its exchange is over, after the response */ \
  X(ended)          /* reset by a side, or its connection closes */

struct ClientStreamLife {
  enum class State : std::uint8_t { EBB_CLIENT_STREAM_STATES(EBB_ENUMERATOR) };
  enum class Event : std::uint8_t { EBB_CLIENT_STREAM_EVENTS(EBB_ENUMERATOR) };
  static constexpr std::string_view state_names[] = {EBB_CLIENT_STREAM_STATES(EBB_ENUMERATOR_NAME)};
  static constexpr std::string_view event_names[] = {EBB_CLIENT_STREAM_EVENTS(EBB_ENUMERATOR_NAME)};
  static constexpr State first = State::open;
  static constexpr State last = State::over;

  using S = State;
  using E = Event;
  static constexpr Row<State, Event> rows[] = {
      {S::open, E::request_whole, S::whole},
      {S::open, E::response_whole, S::answered},
      {S::open, E::ended, S::over},

      {S::whole, E::response_whole, S::complete},
      {S::whole, E::ended, S::over},

      {S::answered, E::request_whole, S::complete},
      {S::answered, E::released, S::discarding},
      {S::answered, E::ended, S::over},

      {S::complete, E::released, S::over},
      {S::complete, E::ended, S::over},

      {S::discarding, E::request_whole, S::over},
      {S::discarding, E::ended, S::over},
  };

  static constexpr bool request_whole(State state) { return state == S::whole || state == S::complete; }
  static constexpr bool response_whole(State state) {
    return state == S::answered || state == S::complete || state == S::discarding;
  }
};

using ClientStreamMachine = Machine<ClientStreamLife>;
static_assert(ClientStreamMachine::deterministic());
static_assert(ClientStreamMachine::last_is_terminal());
static_assert(ClientStreamMachine::all_reach_last());
static_assert(ClientStreamMachine::every_live_state_has(ClientStreamLife::Event::ended));

}  // namespace ebb::lifecycle
