// A new or recovered endpoint gets its share of the work by degrees: caches are cold, code is not yet compiled.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace ebb::lifecycle {

// Shares are thousandths of what the weight says.
inline constexpr std::uint32_t full_share = 1000;
inline constexpr std::uint32_t least_share = 100;

// Grows evenly over the window; a window of zero is none.
constexpr std::uint32_t warming_share(base::Duration age, base::Duration window) {
  if (age >= window) return full_share;
  // In milliseconds, so that the product has room for windows of days.
  const std::int64_t window_ms = std::max<std::int64_t>(base::to_ms(window), 1);
  const std::int64_t share = std::max<std::int64_t>(base::to_ms(age), 0) * full_share / window_ms;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(share, least_share, full_share));
}

// Never where it would starve: most have to be warm, and nobody may be waiting.
constexpr bool may_warm_slowly(std::size_t warm, std::size_t all, std::size_t held) {
  return held == 0 && 2 * warm >= all;
}

}  // namespace ebb::lifecycle
