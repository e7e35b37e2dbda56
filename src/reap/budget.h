// At most so many in any minute. Pure: time is given.
#pragma once

#include <cstdint>
#include <deque>

#include "base/clock.h"

namespace ebb::reap {

class Budget {
 public:
  static constexpr base::Duration window = std::chrono::minutes{1};

  bool has(std::uint32_t limit, base::Instant now) {
    while (!spent_.empty() && now - spent_.front() >= window) spent_.pop_front();
    return spent_.size() < limit;
  }
  void spend(base::Instant now) { spent_.push_back(now); }

 private:
  std::deque<base::Instant> spent_;  // no longer than the limit
};

}  // namespace ebb::reap
