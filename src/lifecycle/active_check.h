// The active checks of one endpoint, as its home worker counts them: when the next is due, and what the last ones
// amount to. Pure.
//
//            failed              fell: `fall` in a row
//    good ───────────▶ slipping ────────────────▶ bad ◀──┐
//     ▲ ◀──────────────────┘ passed                │     │ failed
//     │                                     passed ▼     │
//     └────────────────────────────────────── mending ───┘
//                 rose: `rise` in a row
#pragma once

#include <algorithm>

#include "base/clock.h"
#include "base/rng.h"
#include "lifecycle/machine.h"

namespace ebb::lifecycle {

#define EBB_CHECK_STATES(X) X(good) X(slipping) X(bad) X(mending)
#define EBB_CHECK_EVENTS(X) X(passed) X(failed) X(fell) /* so often that it counts */ X(rose) /* the same */

struct CheckLife {
  enum class State : std::uint8_t { EBB_CHECK_STATES(EBB_ENUMERATOR) };
  enum class Event : std::uint8_t { EBB_CHECK_EVENTS(EBB_ENUMERATOR) };
  static constexpr std::string_view state_names[] = {EBB_CHECK_STATES(EBB_ENUMERATOR_NAME)};
  static constexpr std::string_view event_names[] = {EBB_CHECK_EVENTS(EBB_ENUMERATOR_NAME)};
  static constexpr State first = State::good;

  using S = State;
  using E = Event;
  static constexpr Row<State, Event> rows[] = {
      {S::good, E::passed, S::good},       {S::good, E::failed, S::slipping},     {S::good, E::fell, S::bad},

      {S::slipping, E::passed, S::good},   {S::slipping, E::failed, S::slipping}, {S::slipping, E::fell, S::bad},

      {S::bad, E::failed, S::bad},         {S::bad, E::passed, S::mending},       {S::bad, E::rose, S::good},

      {S::mending, E::passed, S::mending}, {S::mending, E::failed, S::bad},       {S::mending, E::rose, S::good},
  };
};

using CheckMachine = Machine<CheckLife>;
static_assert(CheckMachine::deterministic());
static_assert(CheckMachine::all_reach(CheckLife::State::good));

struct CheckPlan {
  base::Duration every = std::chrono::seconds{2};
  std::uint32_t fall = 2;
  std::uint32_t rise = 2;
};

class ActiveCheck {
 public:
  enum class News : std::uint8_t { none, fell, rose };

  constexpr CheckLife::State state() const { return life_.state(); }
  constexpr bool failing() const { return life_.is(CheckLife::State::bad) || life_.is(CheckLife::State::mending); }
  constexpr std::uint32_t in_a_row() const { return in_a_row_; }  // results like the last one

  // The first is due anywhere in the interval: endpoints that came together are not asked together.
  constexpr base::Instant first_at(base::Instant now, const CheckPlan& plan, base::Rng& random) const {
    return now + fraction(plan.every, random, 0);
  }
  constexpr void began(base::Instant now) { began_ = now; }
  constexpr base::Duration taken(base::Instant now) const { return now - began_; }
  // Never later than asked for, and a little earlier each time, so that routers do not fall into step. One that took
  // longer than the interval is followed at once, never joined.
  constexpr base::Instant next_at(base::Instant now, const CheckPlan& plan, base::Rng& random) const {
    return std::max(now, began_ + fraction(plan.every, random, 900));
  }

  constexpr News passed(const CheckPlan& plan) { return note(true, failing() && repeats(true) >= plan.rise); }
  constexpr News failed(const CheckPlan& plan) { return note(false, !failing() && repeats(false) >= plan.fall); }

 private:
  static constexpr base::Duration fraction(base::Duration whole, base::Rng& random, std::uint64_t thousandths_min) {
    return whole * static_cast<std::int64_t>(random.between(thousandths_min, 1000)) / 1000;
  }
  constexpr std::uint32_t repeats(bool passed) const { return passed == last_passed_ ? in_a_row_ + 1 : 1; }
  constexpr News note(bool passed, bool turns) {
    in_a_row_ = repeats(passed);
    last_passed_ = passed;
    using Event = CheckLife::Event;
    const Event event = passed ? (turns ? Event::rose : Event::passed) : (turns ? Event::fell : Event::failed);
    if (!life_.step(event) || !turns) return News::none;
    return passed ? News::rose : News::fell;
  }

  CheckMachine life_;
  bool last_passed_ = true;
  std::uint32_t in_a_row_ = 0;
  base::Instant began_{};
};

}  // namespace ebb::lifecycle
