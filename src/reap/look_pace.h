// How often to look for silent nodes. Calm looks take at most a fiftieth of a core. In a hurry, while connections to a
// node have begun to time out, a credit pays for the looks; another fiftieth of the time fills it. Pure.
#pragma once

#include <algorithm>

#include "base/clock.h"

namespace ebb::reap {

class LookPace {
 public:
  static constexpr int share = 50;
  static constexpr base::Duration hurried_every = std::chrono::milliseconds{100};
  static constexpr base::Duration credit_max = std::chrono::milliseconds{500};

  // Call after each look; it `took` this much CPU time.
  void looked(base::Instant began, base::Duration took, base::Duration every, bool hurry) {
    credit_ = std::min(credit_max, credit_ + (began - last_) / share);
    if (began < calm_due_) credit_ = std::max(credit_ - took, base::Duration{});
    last_ = began;
    calm_due_ = began + std::max(every, share * took);
    due_ = hurry && credit_ > took ? std::min(calm_due_, began + std::max(hurried_every, 2 * took)) : calm_due_;
  }

  base::Instant due() const { return due_; }

 private:
  base::Instant last_{};
  base::Instant calm_due_{};
  base::Instant due_{};
  base::Duration credit_ = credit_max;
};

}  // namespace ebb::reap
