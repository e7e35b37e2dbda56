// How many connections without work a pool may keep. As many as were at work together a moment ago are wanted again a
// moment later: to close them for the sake of a fixed number is to open them again all the time. So the budget is the
// highest number of the last 5 to 10 seconds, within limits. Pure: the pool tells what it lends and asks before it
// keeps.
#pragma once

#include <algorithm>

#include "base/clock.h"

namespace ebb::lifecycle {

struct IdleLimits {
  std::uint32_t always = 0;  // kept even if fewer were at work
  std::uint32_t most = 0;    // never more, however many were

  constexpr bool keep_any() const { return always > 0 && most > 0; }
};

class IdleBudget {
 public:
  static constexpr base::Duration window = std::chrono::seconds{5};

  constexpr void at_work(base::Instant now, std::uint32_t connections) {
    turn(now);
    highest_ = std::max(highest_, connections);
  }
  constexpr std::uint32_t allowed(base::Instant now, const IdleLimits& limits) {
    turn(now);
    return std::min(limits.most, std::max({limits.always, highest_, highest_before_}));
  }

 private:
  constexpr void turn(base::Instant now) {
    const base::Duration passed = now - began_;
    if (passed < window) return;
    const bool next = passed < 2 * window;
    highest_before_ = next ? highest_ : 0;
    highest_ = 0;
    began_ = next ? began_ + window : now;
  }

  base::Instant began_{};
  std::uint32_t highest_ = 0;         // of this window
  std::uint32_t highest_before_ = 0;  // of the one before
};

}  // namespace ebb::lifecycle
