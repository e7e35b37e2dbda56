// The life of an endpoint: three facts that are never mixed, and what follows from them.
//
//   membership   present ─▶ leaving ─▶ gone    the provider: is it there, terminating, or no more listed?
//   wish         ready, drain, maint           the operator
//   health       the machine below             what its connections and checks have shown
//
//                suspected              condemned
//        up ◀───────────────▶ suspect ────────────┐
//        ▲  ▲     cleared        ▲                ▼
//  warmed│  └────────────────────┼────────────── down
//        └──── warming ──────────┘  recovered     │
//                 ▲───────────────────────────────┘
#pragma once

#include "base/cause.h"
#include "lifecycle/machine.h"

namespace ebb::lifecycle {

enum class Membership : std::uint8_t { present, leaving, gone };
enum class Wish : std::uint8_t { ready, drain, maint };

inline constexpr std::string_view membership_names[] = {"present", "leaving", "gone"};
inline constexpr std::string_view wish_names[] = {"ready", "drain", "maint"};

#define EBB_HEALTH_STATES(X) X(up) X(warming) X(suspect) X(down)
#define EBB_HEALTH_EVENTS(X)                                             \
  X(suspected) /* something is wrong with it or with the way to it */    \
  X(cleared)   /* it was not: bytes came, or a probe got through */      \
  X(condemned) /* proven: nothing may be sent there */                   \
  X(recovered) /* probes get through again; its work grows by degrees */ \
  X(warmed)    /* it takes its full share */

struct HealthLife {
  enum class State : std::uint8_t { EBB_HEALTH_STATES(EBB_ENUMERATOR) };
  enum class Event : std::uint8_t { EBB_HEALTH_EVENTS(EBB_ENUMERATOR) };
  static constexpr std::string_view state_names[] = {EBB_HEALTH_STATES(EBB_ENUMERATOR_NAME)};
  static constexpr std::string_view event_names[] = {EBB_HEALTH_EVENTS(EBB_ENUMERATOR_NAME)};
  static constexpr State first = State::up;

  using S = State;
  using E = Event;
  static constexpr Row<State, Event> rows[] = {
      {S::up, E::suspected, S::suspect},   {S::up, E::condemned, S::down},

      {S::warming, E::warmed, S::up},

      {S::suspect, E::cleared, S::up},     {S::suspect, E::condemned, S::down},

      {S::down, E::recovered, S::warming},
  };
};

using HealthMachine = Machine<HealthLife>;
using Health = HealthLife::State;
static_assert(HealthMachine::deterministic());
static_assert(HealthMachine::all_reach(Health::up));

// How an endpoint ranks when work is given out: the lowest that any endpoint has is served.
enum class Standing : std::uint8_t {
  chosen,       // present, wanted and well
  leaving,      // terminating but serving: only when none of the first is left
  doubtful,     // ill, but perhaps not dead: better than no answer
  unavailable,  // never
};

struct EndpointFactsOfLife {
  Membership membership = Membership::present;
  Wish wish = Wish::ready;
  Health health = Health::up;
  base::Cause why = base::Cause::none;  // of `suspect` and `down`
};

// Nothing listens there, or nothing can be reached: a request would only fail. What merely fails its checks is used
// rather than nothing.
constexpr bool unreachable(base::Cause why) {
  return why == base::Cause::backend_refused || why == base::Cause::backend_unreachable ||
         why == base::Cause::backend_connect_timeout || why == base::Cause::backend_dead;
}

constexpr Standing standing(const EndpointFactsOfLife& facts) {
  if (facts.membership == Membership::gone || facts.wish != Wish::ready) return Standing::unavailable;
  switch (facts.health) {
    case Health::up:
    case Health::warming: return facts.membership == Membership::present ? Standing::chosen : Standing::leaving;
    case Health::suspect: return Standing::doubtful;
    case Health::down: return unreachable(facts.why) ? Standing::unavailable : Standing::doubtful;
  }
  return Standing::unavailable;
}

// No new work comes, and whoever waits for the end of the old is told of it.
constexpr bool draining(Membership membership, Wish wish) {
  return membership != Membership::present || wish != Wish::ready;
}

}  // namespace ebb::lifecycle
