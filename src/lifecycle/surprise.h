// How surprising it would be of a healthy endpoint to let requests wait for so long. Pure.
//
// The chance that the next request takes longer than `waited`, where n answers are known and s of them took longer, is
// (s + 1) / (n + 2): nothing known is an even chance (Laplace). Each request that waits is counted before the next is
// asked about, as late as it is, so that many that wait together do not count as if they were strangers to each other.
// Surprises are the decimal logarithms of such chances, without the sign: 3 is one in a thousand.
#pragma once

#include <cmath>
#include <optional>

#include "lifecycle/answer_times.h"

namespace ebb::lifecycle {

// Below so many answers a kind says nothing about the next.
inline constexpr std::uint32_t answers_min = 10;
// A new endpoint, or one that is back, may be slow at first: nothing is concluded from its siblings before.
inline constexpr base::Duration cold_patience = std::chrono::seconds{10};
// One that has answered a few requests, none of them as slowly, is then taken for one like its siblings.
inline constexpr base::Duration few_patience = std::chrono::seconds{3};

inline double chance_of_longer(const AnswerTimes& known, base::Duration waited, std::uint32_t late) {
  return (known.longer_than(waited) + late + 1.0) / (known.answers() + late + 2.0);
}

inline double surprise(double chance) { return -std::log10(std::min(1.0, chance)); }

// Of one request of an endpoint. `own`: its answers of the kind; `all`: those of its siblings too. `late_here`: others
// that wait there for at least as long; `late`: there and at the siblings.
inline double surprise_of_wait(base::Duration waited, const AnswerTimes& own, std::uint32_t late_here,
                               const AnswerTimes& all, std::uint32_t late) {
  if (all.answers() < answers_min) return 0;
  const double by_all = chance_of_longer(all, waited, late);
  if (own.answers() < answers_min && waited < cold_patience) return 0;
  if (own.longer_than(waited) == 0 && waited >= few_patience) return surprise(by_all);
  return surprise(std::max(by_all, chance_of_longer(own, waited, late_here)));
}

// A request to try a doubted endpoint with: of a kind that is answered within `time` so surely that no answer is news.
struct TrialPlan {
  base::Duration time{};
  double surprise = 0;  // of no answer within it
};

// Of kinds that are sometimes slow several trials are needed, and this many of them are sent twice in vain.
inline constexpr double trial_chance_max = 0.2;
inline constexpr base::Duration trial_time_max = std::chrono::seconds{2};

inline std::optional<TrialPlan> plan_trial(const AnswerTimes& known, base::Duration time_min) {
  if (known.answers() < answers_min) return {};
  for (base::Duration time = time_min; time <= std::max(time_min, trial_time_max);
       time = AnswerTimes::step_after(time)) {
    const double chance = chance_of_longer(known, time, 0);
    if (chance <= trial_chance_max) return TrialPlan{time, surprise(chance)};
  }
  return {};
}

// So many failures in a row, where siblings failed as often as that meanwhile. If some did, each failure is counted
// before the next is asked about, as above: where all answers of few siblings are failures, no row is surprising.
inline double surprise_of_failures(std::uint32_t in_a_row, std::uint32_t answers, std::uint32_t failures) {
  if (failures == 0) return in_a_row * surprise(1.0 / (answers + 2.0));
  constexpr std::uint32_t counted_max = 64;
  double sum = 0;
  for (std::uint32_t i = 0; i < std::min(in_a_row, counted_max); ++i)
    sum += surprise((failures + i + 1.0) / (answers + i + 2.0));
  return sum;
}

// A silence is confirmed: which requests are still taken for slow and stay? An endpoint that is known to answer quick
// requests while it works on slow ones has no reason to be silent: all leave. One that handles requests one after
// another looks dead while it works on a slow one: at first those stay that are not overdue for their kind, and the
// longer nothing at all comes, the slower kinds leave. `survived`: the longest silence after which it has answered
// again, lately.
inline constexpr base::Duration slow_silence_max = std::chrono::seconds{30};
// Of a kind, that took as long: then one of it may be what a serial endpoint works on.
inline constexpr std::uint32_t slow_share = 100;  // one in so many

inline bool known_as_slow(const AnswerTimes& known, base::Duration waited) {
  return known.longer_than(waited) * slow_share > known.answers();
}

inline double chance_of_stay(base::Duration silence, base::Duration survived, bool concurrent) {
  using std::chrono::seconds;
  const bool long_known = silence < 2 * survived;
  if (concurrent && !long_known) return 1;
  if (long_known || silence < seconds{2}) return 0.05;
  return silence < slow_silence_max ? 0.15 : 1;
}

// Whether an endpoint works on several requests at a time: later ones were answered before earlier ones, several times,
// or several while one waited. One that handles one after another never does that.
class Overtaking {
 public:
  constexpr void answered(base::Instant asked) {
    answers_ += 1;
    if (asked + margin < latest_) count_ = std::min(count_ + 1, enough);
    latest_ = std::max(latest_, asked);
  }
  // The last answer that may come before that of a request which is asked now, one after another.
  constexpr std::uint32_t place(std::uint32_t under_way) const { return answers_ + under_way; }
  // A request of that place waits.
  constexpr void waits(std::uint32_t place) {
    if (static_cast<std::int32_t>(answers_ - place) >= static_cast<std::int32_t>(enough)) count_ = enough;
  }
  // Another worker has seen it.
  constexpr void told() { count_ = enough; }
  constexpr bool concurrent() const { return count_ == enough; }

 private:
  static constexpr base::Duration margin = std::chrono::milliseconds{5};  // less may be the order on the way
  static constexpr std::uint32_t enough = 5;

  base::Instant latest_{};
  std::uint32_t answers_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace ebb::lifecycle
