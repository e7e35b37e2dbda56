// The life of one request and its response.
//
//              ┌──────────── retry ─────────────┬───────────────┐
//              ▼                                │               │
//   first ▶ choosing ─▶ connecting ─▶ uploading ┴▶ awaiting ────┘
//       held ◀▶│                          │            │
//              │ (a pooled connection)────┘            │ response begins
//              │                          ▼            ▼
//              │                       crossing ─▶ downloading ─▶ tunnelling
//              ▼                          ▼            ▼              ▼
//            ended ◀──────────────────────┴────────────┴──────────────┘
//
// held: no endpoint may take it now; it goes back to choosing when one may. uploading: the request is on its way, no
// byte of the response has come. awaiting: it is sent whole. crossing: the response began before the request was whole
// (an early answer). downloading: only the response is left.
#pragma once

#include "lifecycle/machine.h"

namespace ebb::lifecycle {

#define EBB_EXCHANGE_STATES(X) \
  X(choosing) X(held) X(connecting) X(uploading) X(awaiting) X(crossing) X(downloading) X(tunnelling) X(ended)
#define EBB_EXCHANGE_EVENTS(X)                                        \
  X(hold)           /* no endpoint may take it now: it waits */       \
  X(woken)          /* one may, perhaps */                            \
  X(connect)        /* an endpoint is chosen, a connection opens */   \
  X(lease)          /* a connection is there */                       \
  X(request_whole)  /* the last byte of the request was sent */       \
  X(response_began) /* the final response's head is complete */       \
  X(response_whole) /* its last byte was handed on */                 \
  X(upgraded)       /* 101 */                                         \
  X(opened)         /* a connection is there; nothing but bytes */    \
  X(retry)          /* it failed in a way that lets it be repeated */ \
  X(deadline)                                                         \
  X(failed) /* the endpoint, or our own refusal */                    \
  X(client_left)

struct ExchangeLife {
  enum class State : std::uint8_t { EBB_EXCHANGE_STATES(EBB_ENUMERATOR) };
  enum class Event : std::uint8_t { EBB_EXCHANGE_EVENTS(EBB_ENUMERATOR) };
  static constexpr std::string_view state_names[] = {EBB_EXCHANGE_STATES(EBB_ENUMERATOR_NAME)};
  static constexpr std::string_view event_names[] = {EBB_EXCHANGE_EVENTS(EBB_ENUMERATOR_NAME)};
  static constexpr State first = State::choosing;
  static constexpr State last = State::ended;

  using S = State;
  using E = Event;
  static constexpr Row<State, Event> rows[] = {
      {S::choosing, E::connect, S::connecting},
      {S::choosing, E::lease, S::uploading},
      {S::choosing, E::opened, S::tunnelling},
      {S::choosing, E::hold, S::held},
      {S::choosing, E::deadline, S::ended},
      {S::choosing, E::failed, S::ended},
      {S::choosing, E::client_left, S::ended},

      {S::held, E::woken, S::choosing},
      {S::held, E::deadline, S::ended},
      {S::held, E::failed, S::ended},
      {S::held, E::client_left, S::ended},

      {S::connecting, E::lease, S::uploading},
      {S::connecting, E::opened, S::tunnelling},
      {S::connecting, E::retry, S::choosing},
      {S::connecting, E::deadline, S::ended},
      {S::connecting, E::failed, S::ended},
      {S::connecting, E::client_left, S::ended},

      {S::uploading, E::request_whole, S::awaiting},
      {S::uploading, E::response_began, S::crossing},
      {S::uploading, E::retry, S::choosing},
      {S::uploading, E::deadline, S::ended},
      {S::uploading, E::failed, S::ended},
      {S::uploading, E::client_left, S::ended},

      {S::awaiting, E::response_began, S::downloading},
      {S::awaiting, E::retry, S::choosing},
      {S::awaiting, E::deadline, S::ended},
      {S::awaiting, E::failed, S::ended},
      {S::awaiting, E::client_left, S::ended},

      {S::crossing, E::request_whole, S::downloading},
      {S::crossing, E::response_whole, S::ended},
      {S::crossing, E::deadline, S::ended},
      {S::crossing, E::failed, S::ended},
      {S::crossing, E::client_left, S::ended},

      {S::downloading, E::response_whole, S::ended},
      {S::downloading, E::upgraded, S::tunnelling},
      {S::downloading, E::deadline, S::ended},
      {S::downloading, E::failed, S::ended},
      {S::downloading, E::client_left, S::ended},

      {S::tunnelling, E::response_whole, S::ended},
      {S::tunnelling, E::deadline, S::ended},
      {S::tunnelling, E::failed, S::ended},
      {S::tunnelling, E::client_left, S::ended},
  };
};

using ExchangeMachine = Machine<ExchangeLife>;
static_assert(ExchangeMachine::deterministic());
static_assert(ExchangeMachine::last_is_terminal());
static_assert(ExchangeMachine::all_reach_last());
static_assert(ExchangeMachine::every_live_state_has(ExchangeLife::Event::deadline), "no deadline: a leak");
static_assert(ExchangeMachine::every_live_state_has(ExchangeLife::Event::failed));
static_assert(ExchangeMachine::every_live_state_has(ExchangeLife::Event::client_left));

}  // namespace ebb::lifecycle
