// The life of one request and its response: who has it.
//
//              ┌──── retry ───┐
//              ▼              │   response begins
//   first ▶ choosing ─▶ trying ┴──────────────▶ answering
//       held ◀▶│          │                          │
//              │          └──── bytes only ──▶ tunnelling ◀── 101
//              ▼                                     ▼
//            ended ◀─────────────────────────────────┘   (from every state)
//
// held: no endpoint may take it now. trying: an endpoint has it, and another one may still get it. answering: the
// client has the head of the response, so that nobody else can answer. What has come of the request and of the response
// is told by their halves (request_half.h, response_half.h), how far the endpoint has got by the attempt (attempt.h).
#pragma once

#include "lifecycle/machine.h"

namespace ebb::lifecycle {

#define EBB_EXCHANGE_STATES(X) X(choosing) X(held) X(trying) X(answering) X(tunnelling) X(ended)
#define EBB_EXCHANGE_EVENTS(X)                                  \
  X(hold)     /* no endpoint may take it now: it waits */       \
  X(woken)    /* one may, perhaps */                            \
  X(attempt)  /* an endpoint has it */                          \
  X(retry)    /* it failed in a way that lets it be repeated */ \
  X(answered) /* the final response's head is complete */       \
  X(tunnel)   /* bytes both ways from here on */                \
  X(end)

// What a step asks of gate/exchanges, done in this order.
enum class ExchangeAction : std::uint8_t {
  leave_queue,     // of requests that wait for an endpoint
  disarm,          // its timer
  drop_attempt,    // its endpoint has it no more
  rewind,          // the request from its beginning
  forget_request,  // nobody else will get it: no copies for a replay
  pause_client,    // the rest of the body stays in the kernel
  release_memory,
  bury,
};

struct ExchangeLife {
  enum class State : std::uint8_t { EBB_EXCHANGE_STATES(EBB_ENUMERATOR) };
  enum class Event : std::uint8_t { EBB_EXCHANGE_EVENTS(EBB_ENUMERATOR) };
  static constexpr std::string_view state_names[] = {EBB_EXCHANGE_STATES(EBB_ENUMERATOR_NAME)};
  static constexpr std::string_view event_names[] = {EBB_EXCHANGE_EVENTS(EBB_ENUMERATOR_NAME)};
  static constexpr State first = State::choosing;
  static constexpr State last = State::ended;

  using S = State;
  using E = Event;
  using A = ExchangeAction;
  static constexpr Row<State, Event, ExchangeAction> rows[] = {
      {S::choosing, E::hold, S::held, {A::pause_client}},
      {S::choosing, E::attempt, S::trying},
      {S::choosing, E::end, S::ended, {A::disarm, A::drop_attempt, A::release_memory, A::bury}},

      {S::held, E::woken, S::choosing, {A::disarm}},
      {S::held, E::end, S::ended, {A::leave_queue, A::disarm, A::release_memory, A::bury}},

      {S::trying, E::retry, S::choosing, {A::disarm, A::drop_attempt, A::rewind}},
      {S::trying, E::answered, S::answering, {A::forget_request}},
      {S::trying, E::tunnel, S::tunnelling},
      {S::trying, E::end, S::ended, {A::disarm, A::drop_attempt, A::release_memory, A::bury}},

      {S::answering, E::tunnel, S::tunnelling},
      {S::answering, E::end, S::ended, {A::disarm, A::drop_attempt, A::release_memory, A::bury}},

      {S::tunnelling, E::end, S::ended, {A::disarm, A::drop_attempt, A::release_memory, A::bury}},
  };
};

using ExchangeMachine = Machine<ExchangeLife>;
static_assert(ExchangeMachine::deterministic());
static_assert(ExchangeMachine::last_is_terminal());
static_assert(ExchangeMachine::all_reach_last());
static_assert(ExchangeMachine::every_live_state_has(ExchangeLife::Event::end));

}  // namespace ebb::lifecycle
