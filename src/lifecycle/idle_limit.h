// How long an endpoint keeps a connection that nobody uses, as it has said (Keep-Alive: timeout=N) or shown by closing
// some. A pooled connection is not used up to that limit: the request could meet the endpoint's FIN.
#pragma once

#include <algorithm>

#include "base/clock.h"

namespace ebb::lifecycle {

class IdleLimit {
 public:
  static constexpr base::Duration unknown = base::Duration::max();
  // For requests that could not be repeated, while nothing is known. Few servers close sooner.
  static constexpr base::Duration careful = std::chrono::milliseconds{500};
  // A close that was seen may have had another reason (a restart), and the limit may have been changed since.
  static constexpr base::Duration memory = std::chrono::minutes{1};

  constexpr void announced(base::Duration limit) { announced_ = limit; }

  // It closed a connection that had been idle for so long. One close tells nothing, two alike do.
  constexpr void closed_after(base::Duration idle, base::Instant now) {
    const base::Duration difference = idle > last_ ? idle - last_ : last_ - idle;
    if (last_ != base::Duration::zero() && difference <= std::max(idle, last_) / 8) {
      observed_ = std::min(idle, last_);
      observed_until_ = now + memory;
    }
    last_ = idle;
  }

  constexpr base::Duration limit(base::Instant now) const {
    return now < observed_until_ ? std::min(announced_, observed_) : announced_;
  }

  // How long a connection may have been idle and still be used. `repeatable`: should it fail, the request can be sent
  // again in any case.
  constexpr base::Duration reuse_within(bool repeatable, base::Instant now) const {
    const base::Duration known = limit(now);
    if (known != unknown) return known / 5 * 4;
    return repeatable ? unknown : careful;
  }

 private:
  base::Duration announced_ = unknown;
  base::Duration observed_ = unknown;
  base::Instant observed_until_{};
  base::Duration last_{};
};

}  // namespace ebb::lifecycle
