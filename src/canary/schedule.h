// When the next probe of a leg is due. Pure.
#pragma once

#include <algorithm>

#include "base/clock.h"
#include "base/rng.h"

namespace ebb::canary {

struct Schedule {
  base::Duration every = std::chrono::seconds{5};   // from start to start
  base::Duration budget = std::chrono::seconds{2};  // of one probe, from its start to its end

  bool at_once = false;  // the first probe, which a user waits for
  bool presses = true;   // probe a leg twice as often while its state is unclear

  // A random time in the interval: legs that were added together are not probed together.
  constexpr base::Instant first_at(base::Instant now, base::Rng& random) const {
    if (at_once) return now;
    return now + every * static_cast<std::int64_t>(random.between(0, 1000)) / 1000;
  }
  // A tenth earlier or later, so that routers do not synchronise. After a probe that took longer than the interval, the
  // next starts at once, but never overlaps.
  constexpr base::Instant next_at(base::Instant began, base::Instant now, bool doubted, base::Rng& random) const {
    const base::Duration interval = doubted && presses ? every / 2 : every;
    return std::max(now, began + interval * static_cast<std::int64_t>(random.between(900, 1100)) / 1000);
  }
};

}  // namespace ebb::canary
