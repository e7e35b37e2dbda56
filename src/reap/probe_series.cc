#include "reap/probe_series.h"

#include <algorithm>

namespace ebb::reap {

bool ProbeSeries::take_attempt(base::Instant now) {
  if (all_sent() || now < due_) return false;
  ++sent_;
  due_ = now + (all_sent() ? times_.patience : ProbeTimes::apart);
  return true;
}

std::optional<ProbeResult> ProbeSeries::judge(base::Instant now,
                                              std::span<const std::optional<ProbeResult>> outcomes) const {
  const auto has = [&](std::optional<ProbeResult> which) {
    return std::ranges::find(outcomes, which) != outcomes.end();
  };
  if (has(ProbeResult::answered)) return ProbeResult::answered;
  if (!all_sent() || (has(std::nullopt) && now < due_)) return std::nullopt;
  return has(ProbeResult::inconclusive) ? ProbeResult::inconclusive : ProbeResult::failed;
}

}  // namespace ebb::reap
