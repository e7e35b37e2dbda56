// The state of a leg from its last probes: k bad ones of the last n make it failing, fewer let it recover. Pure.
//
// A spell begins with the first fault after n good probes. The leg keeps the counts of its faults and its last distinct
// errors until the next spell begins, so that an operator can read in the morning what failed at night.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "canary/judge.h"

namespace ebb::canary {

struct Tolerance {
  static constexpr std::uint32_t of_max = 32;
  std::uint32_t bad = 3;  // so many
  std::uint32_t of = 5;   // of the last
};

enum class Truth : std::uint8_t { unknown, yes, no };
constexpr std::string_view name(Truth truth) {
  return truth == Truth::yes ? "True" : truth == Truth::no ? "False" : "Unknown";
}

// A condition in the manner of Kubernetes.
struct Condition {
  static constexpr std::string_view type = "CanaryChecksSucceeding";
  Truth status = Truth::unknown;
  std::string reason;  // one word
  std::string message;
  base::WallTime since{};  // when the status last changed
};

class LegState {
 public:
  static constexpr std::size_t errors_max = 3;
  enum class News : std::uint8_t { none, fell, rose };

  struct Span {
    std::uint64_t count = 0;
    base::WallTime first{};
    base::WallTime last{};
  };
  struct Error {
    Judgement what;
    Span seen;
  };
  struct Cause {
    Fault fault = Fault::none;
    Span seen;
  };

  explicit LegState(Tolerance tolerance = {}) : tolerance_(tolerance) {}

  // `unable` says nothing about the leg: it is counted, and makes what is known of it stale.
  News note(const Judgement& judgement, base::WallTime now);

  Truth succeeding() const { return standing_; }
  base::WallTime since() const { return since_; }
  std::uint32_t bad_lately() const;  // of
  std::uint32_t seen_lately() const { return seen_; }
  // The fault that this spell has most of, the later one of two; none before the first.
  std::optional<Cause> cause() const;
  const std::vector<Error>& errors() const { return errors_; }  // the last one first
  std::uint64_t probes() const { return probes_; }
  std::uint64_t count(Fault fault) const { return counts_[static_cast<std::size_t>(fault)]; }  // ever
  const Judgement& last() const { return last_; }
  base::WallTime last_at() const { return last_at_; }
  Condition condition() const;

 private:
  void begin_spell();
  void note_error(const Judgement& judgement, base::WallTime now);
  News turn(Truth to, base::WallTime now);

  Tolerance tolerance_;
  Truth standing_ = Truth::unknown;
  base::WallTime since_{};
  bool was_failing_ = false;  // when it was last known
  std::uint32_t window_ = 0;  // the newest in the lowest bit; 1: bad
  std::uint32_t seen_ = 0;    // of the window
  std::array<Span, fault_count> spell_{};
  std::vector<Error> errors_;
  std::array<std::uint64_t, fault_count> counts_{};
  std::uint64_t probes_ = 0;
  Judgement last_;
  base::WallTime last_at_{};
};

// Of all legs: no if one says no, yes if all say yes.
struct NamedCondition {
  std::string leg;
  Condition condition;
};
Condition sum_up(const std::vector<NamedCondition>& legs);

}  // namespace ebb::canary
