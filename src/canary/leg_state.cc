#include "canary/leg_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace ebb::canary {
namespace {

constexpr std::string_view reason_unknown = "CanaryChecksNotYetMade";
constexpr std::string_view reason_unable = "CanaryChecksNotPossible";
constexpr std::string_view reason_yes = "CanaryChecksSucceeding";
constexpr std::string_view reason_no = "CanaryChecksRepetitiveFailures";  // OpenShift's term

void extend(LegState::Span& span, base::WallTime now) {
  if (span.count == 0) span.first = now;
  span.count += 1;
  span.last = now;
}

std::string words(const LegState::Error& error) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(error.seen.last - error.seen.first).count();
  const std::string_view detail =
      error.what.detail.empty() ? facts(error.what.fault).words : std::string_view(error.what.detail);
  return fmt::format("{}: {} (x{} over {}s)", name(error.what.fault), detail, error.seen.count, seconds);
}

}  // namespace

std::uint32_t LegState::bad_lately() const { return static_cast<std::uint32_t>(std::popcount(window_)); }

LegState::News LegState::note(const Judgement& judgement, base::WallTime now) {
  probes_ += 1;
  counts_[static_cast<std::size_t>(judgement.fault)] += 1;
  last_ = judgement;
  last_at_ = now;
  if (judgement.fault == Fault::unable) return turn(Truth::unknown, now);

  const bool bad = judgement.fault != Fault::none;
  if (bad && window_ == 0) begin_spell();
  const std::uint32_t of = std::clamp(tolerance_.of, 1U, Tolerance::of_max);
  const std::uint32_t mask = of == Tolerance::of_max ? UINT32_MAX : (std::uint32_t{1} << of) - 1;
  window_ = ((window_ << 1) | (bad ? 1U : 0U)) & mask;
  seen_ = std::min(seen_ + 1, of);
  if (bad) note_error(judgement, now);
  if (bad_lately() >= tolerance_.bad) return turn(Truth::no, now);
  // One bad probe does not make an unknown leg good.
  return bad && standing_ == Truth::unknown ? News::none : turn(Truth::yes, now);
}

void LegState::begin_spell() {
  spell_ = {};
  errors_.clear();
}

void LegState::note_error(const Judgement& judgement, base::WallTime now) {
  extend(spell_[static_cast<std::size_t>(judgement.fault)], now);
  auto same = std::ranges::find_if(errors_, [&judgement](const Error& error) {
    return error.what.fault == judgement.fault && error.what.detail == judgement.detail;
  });
  if (same == errors_.end()) same = errors_.insert(errors_.end(), {judgement, {}});
  extend(same->seen, now);
  std::rotate(errors_.begin(), same, same + 1);
  if (errors_.size() > errors_max) errors_.pop_back();
}

LegState::News LegState::turn(Truth to, base::WallTime now) {
  if (to == standing_) return News::none;
  standing_ = to;
  since_ = now;
  if (to == Truth::unknown) return News::none;
  const bool fell = to == Truth::no;
  if (fell == was_failing_) return News::none;
  was_failing_ = fell;
  return fell ? News::fell : News::rose;
}

std::optional<LegState::Cause> LegState::cause() const {
  std::optional<Cause> most;
  for (std::size_t i = 0; i < fault_count; ++i) {
    const Span& seen = spell_[i];
    if (seen.count == 0) continue;
    const bool more =
        !most || seen.count > most->seen.count || (seen.count == most->seen.count && seen.last > most->seen.last);
    if (more) most = Cause{static_cast<Fault>(i), seen};
  }
  return most;
}

Condition LegState::condition() const {
  Condition condition{.status = standing_, .since = since_};
  switch (standing_) {
    case Truth::unknown:
      condition.reason = last_.fault == Fault::unable ? reason_unable : reason_unknown;
      condition.message = last_.fault == Fault::unable ? fmt::format("{}: {}", facts(last_.fault).words, last_.detail)
                                                       : "not enough probes have been made yet";
      break;
    case Truth::yes:
      condition.reason = reason_yes;
      condition.message = fmt::format("{} of the last {} probes succeeded", seen_ - bad_lately(), seen_);
      break;
    case Truth::no:
      condition.reason = reason_no;
      condition.message = fmt::format("{} of the last {} probes failed. Last errors:", bad_lately(), seen_);
      for (const Error& error : errors_) condition.message += "\n" + words(error);
      break;
  }
  return condition;
}

Condition sum_up(const std::vector<NamedCondition>& legs) {
  const auto of = [&legs](Truth truth) {
    return std::ranges::count_if(legs, [truth](const NamedCondition& leg) { return leg.condition.status == truth; });
  };
  Condition sum;
  if (legs.empty()) {
    sum.reason = reason_unknown;
    sum.message = "there is nothing to probe";
    return sum;
  }
  sum.status = of(Truth::no) > 0 ? Truth::no : of(Truth::unknown) > 0 ? Truth::unknown : Truth::yes;
  sum.message = fmt::format("{} of {} legs succeed", of(Truth::yes), legs.size());
  // False since the earliest of the legs that fail now; true since the last leg became true.
  for (const auto& [leg, condition] : legs) {
    if (condition.status != sum.status) continue;
    if (sum.reason.empty()) {
      sum.reason = condition.reason;
      sum.since = condition.since;
    }
    sum.since = sum.status == Truth::yes ? std::max(sum.since, condition.since) : std::min(sum.since, condition.since);
    if (sum.status != Truth::yes) sum.message += fmt::format("\n{}: {}", leg, condition.message);
  }
  return sum;
}

}  // namespace ebb::canary
