// Thousands of deadlines: a hierarchical wheel of four levels with 64 slots each and a tick of one millisecond. It
// spans 4.6 hours; later deadlines are inserted again. Arming a later time only stores the time: the node moves when
// its old slot comes up. Re-arming a connection at each request is therefore cheap.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "base/list.h"
#include "base/slot_map.h"

namespace ebb::base {

// The receiver of an event: a kind that the receiver chose, and the handle of its object.
struct Owner {
  std::uint32_t kind = 0;
  Handle handle;
  friend bool operator==(const Owner&, const Owner&) = default;
};

class Timer : public ListNode<Timer> {
 public:
  explicit Timer(Owner owner = {}) : owner_(owner) {}
  void set_owner(Owner owner) { owner_ = owner; }
  bool armed() const { return linked(); }
  Instant deadline() const { return deadline_; }
  void disarm() { unlink(); }

 private:
  friend class TimerWheel;
  Instant deadline_{};
  std::int64_t slot_tick_ = 0;
  Owner owner_;
};

class TimerWheel {
 public:
  explicit TimerWheel(Instant start) : origin_(start) {}

  void arm(Timer& timer, Instant deadline);
  // When to call advance() next; Instant::max() if nothing is armed. May be early, never late.
  Instant next_wake() const;
  // Calls expired(owner) for each expired timer, in order of slots. The callback may arm and disarm any timer; a timer
  // that it arms expires at the next advance() at the earliest.
  template <class Expired>
  void advance(Instant now, Expired&& expired);

 private:
  static constexpr int levels = 4;
  static constexpr int slot_bits = 6;
  static constexpr std::int64_t slots = 1 << slot_bits;
  using Slot = List<Timer, Timer>;

  std::int64_t tick_of(Instant instant) const;  // rounded up: a timer is never early
  void insert(Timer& timer, std::int64_t tick);
  void cascade();
  std::int64_t next_tick() const;

  Instant origin_;
  std::int64_t current_ = 0;                       // all ticks up to this one have been handled
  std::int64_t target_ = 0;                        // the tick that advance() runs to, or ran to
  mutable std::uint64_t maybe_used_[levels] = {};  // a set bit may be stale, a clear one never is
  Slot wheel_[levels][slots];
};

template <class Expired>
void TimerWheel::advance(Instant now, Expired&& expired) {
  target_ = std::max(target_, (now - origin_) / std::chrono::milliseconds{1});
  while (current_ < target_) {
    const std::int64_t next = next_tick();
    if (next > target_) {
      current_ = target_;
      return;
    }
    current_ = next;
    cascade();
    List<Timer, Timer> due;
    due.splice_back(wheel_[0][current_ & (slots - 1)]);
    while (Timer* timer = due.pop_front()) {
      if (timer->deadline_ > now) {
        insert(*timer, tick_of(timer->deadline_));  // re-armed to a later time
        continue;
      }
      expired(timer->owner_);
    }
  }
}

}  // namespace ebb::base
