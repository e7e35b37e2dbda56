// How many requests of one backend may be repeated: a fifth of those that began lately, so that an endpoint that fails
// under load is not given more of it. As many as fail together when one HTTP/2 connection dies may always be.
#pragma once

#include <array>

#include "base/clock.h"

namespace ebb::lifecycle {

class RetryBudget {
 public:
  static constexpr std::uint64_t share = 5;     // one in so many
  static constexpr std::uint64_t always = 128;  // in each window
  static constexpr std::size_t slices = 10;     // of a window that slides by one of them
  static constexpr base::Duration slice = std::chrono::seconds{1};

  constexpr void began(base::Instant now) {
    slide(now);
    requests_[at_] += 1;
    requests_sum_ += 1;
  }
  constexpr bool allows(base::Instant now) {
    slide(now);
    return retries_sum_ < always + requests_sum_ / share;
  }
  // True: one more may be repeated, and is counted.
  constexpr bool take(base::Instant now) {
    if (!allows(now)) return false;
    retries_[at_] += 1;
    retries_sum_ += 1;
    return true;
  }

 private:
  constexpr void slide(base::Instant now) {
    const auto reached = static_cast<std::uint64_t>(now.time_since_epoch() / slice);
    if (reached - reached_ >= slices) {
      *this = {};
      reached_ = reached;
      return;
    }
    for (; reached_ < reached; ++reached_) {
      at_ = (at_ + 1) % slices;
      requests_sum_ -= requests_[at_];
      retries_sum_ -= retries_[at_];
      requests_[at_] = retries_[at_] = 0;
    }
  }

  std::array<std::uint32_t, slices> requests_{};
  std::array<std::uint32_t, slices> retries_{};
  std::uint64_t requests_sum_ = 0;
  std::uint64_t retries_sum_ = 0;
  std::size_t at_ = 0;
  std::uint64_t reached_ = 0;  // the slice of time that at_ stands for
};

}  // namespace ebb::lifecycle
