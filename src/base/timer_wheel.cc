#include "base/timer_wheel.h"

#include <algorithm>
#include <bit>

namespace ebb::base {

std::int64_t TimerWheel::tick_of(Instant instant) const {
  constexpr Duration tick = std::chrono::milliseconds{1};
  if (instant == Instant::max()) return INT64_MAX;
  const Duration since = instant - origin_;
  return since / tick + (since % tick > Duration{0} ? 1 : 0);  // adding a tick first could overflow
}

void TimerWheel::arm(Timer& timer, Instant deadline) {
  timer.deadline_ = deadline;
  // Never before advance()'s target tick: a callback that arms for "now" after a long pause would otherwise run once
  // for each tick of that pause.
  const std::int64_t tick = std::max(tick_of(deadline), target_ + 1);
  if (timer.linked()) {
    if (tick >= timer.slot_tick_) return;
    timer.unlink();
  }
  insert(timer, tick);
}

// Level n holds timers due within 64^(n+1) ticks; the slot number is the n-th group of six bits of the tick.
void TimerWheel::insert(Timer& timer, std::int64_t tick) {
  constexpr std::int64_t reach = std::int64_t{1} << (levels * slot_bits);
  tick = std::clamp(tick, current_ + 1, current_ + reach - 1);
  timer.slot_tick_ = tick;
  int level = 0;
  while (level + 1 < levels && (tick >> ((level + 1) * slot_bits)) != (current_ >> ((level + 1) * slot_bits)))
    level += 1;
  const std::int64_t slot = (tick >> (level * slot_bits)) & (slots - 1);
  wheel_[level][slot].push_back(timer);
  maybe_used_[level] |= std::uint64_t{1} << slot;
}

// When an upper level enters a new slot, the timers of that slot spread over the levels below.
void TimerWheel::cascade() {
  for (int level = 1; level < levels; ++level) {
    if ((current_ & ((std::int64_t{1} << (level * slot_bits)) - 1)) != 0) return;
    const std::int64_t slot = (current_ >> (level * slot_bits)) & (slots - 1);
    List<Timer, Timer> moving;
    moving.splice_back(wheel_[level][slot]);
    maybe_used_[level] &= ~(std::uint64_t{1} << slot);
    while (Timer* timer = moving.pop_front()) {
      if (timer->slot_tick_ <= current_) {  // due in this very tick
        wheel_[0][current_ & (slots - 1)].push_back(*timer);
        maybe_used_[0] |= std::uint64_t{1} << (current_ & (slots - 1));
      } else {
        insert(*timer, timer->slot_tick_);
      }
    }
  }
}

// The first tick after `current_` at which a slot is due or must cascade.
std::int64_t TimerWheel::next_tick() const {
  std::int64_t best = INT64_MAX;
  for (int level = 0; level < levels; ++level) {
    const int shift = level * slot_bits;
    const std::int64_t here = current_ >> shift;
    std::uint64_t& used = maybe_used_[level];
    while (used != 0) {
      const int offset = static_cast<int>((here + 1) & (slots - 1));
      const std::int64_t distance = std::countr_zero(std::rotr(used, offset));
      const std::int64_t slot = (here + 1 + distance) & (slots - 1);
      if (wheel_[level][slot].empty()) {
        used &= ~(std::uint64_t{1} << slot);
        continue;
      }
      best = std::min(best, (here + 1 + distance) << shift);
      break;
    }
  }
  return best;
}

Instant TimerWheel::next_wake() const {
  const std::int64_t tick = next_tick();
  if (tick == INT64_MAX) return Instant::max();
  return origin_ + std::chrono::milliseconds{tick};
}

}  // namespace ebb::base
