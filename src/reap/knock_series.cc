#include "reap/knock_series.h"

#include <algorithm>

namespace ebb::reap {

bool KnockSeries::take_attempt(base::Instant now) {
  if (all_sent() || now < due_) return false;
  ++sent_;
  due_ = now + (all_sent() ? times_.patience : KnockTimes::apart);
  return true;
}

std::optional<KnockResult> KnockSeries::judge(base::Instant now,
                                              std::span<const std::optional<KnockResult>> outcomes) const {
  const auto has = [&](std::optional<KnockResult> which) {
    return std::ranges::find(outcomes, which) != outcomes.end();
  };
  if (has(KnockResult::answered)) return KnockResult::answered;
  if (!all_sent() || (has(std::nullopt) && now < due_)) return std::nullopt;
  return has(KnockResult::inconclusive) ? KnockResult::inconclusive : KnockResult::failed;
}

}  // namespace ebb::reap
