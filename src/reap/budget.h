// Limits actions per minute. Pure: the caller passes the time.
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
  std::deque<base::Instant> spent_;  // at most `limit` elements
};

}  // namespace ebb::reap
