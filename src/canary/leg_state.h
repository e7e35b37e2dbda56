// The state of a leg from its last probes: k bad probes of the last n make it failing; with fewer it recovers. Pure.
//
// A spell begins with the first fault after n good probes. The leg keeps the counts of its faults and its last distinct
// errors until the next spell begins, so that an operator can see in the morning what failed at night.
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
  std::uint32_t bad = 3;  // this many bad probes
  std::uint32_t of = 5;   // of the last probes
};

enum class Truth : std::uint8_t { unknown, yes, no };
constexpr std::string_view name(Truth truth) {
  return truth == Truth::yes ? "True" : truth == Truth::no ? "False" : "Unknown";
}

// A condition as in Kubernetes.
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

  // `unable` says nothing about the leg: it is counted, and makes the known state stale.
  News note(const Judgement& judgement, base::WallTime now);

  Truth succeeding() const { return standing_; }
  base::WallTime since() const { return since_; }
  std::uint32_t bad_lately() const;  // of the window
  std::uint32_t seen_lately() const { return seen_; }
  // The most frequent fault of this spell, of equals the later; empty before the first.
  std::optional<Cause> cause() const;
  const std::vector<Error>& errors() const { return errors_; }  // newest first
  std::uint64_t probes() const { return probes_; }
  std::uint64_t count(Fault fault) const { return counts_[static_cast<std::size_t>(fault)]; }  // in total
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
  bool was_failing_ = false;  // when last known
  std::uint32_t window_ = 0;  // newest in the lowest bit; 1: bad
  std::uint32_t seen_ = 0;    // probes in the window
  std::array<Span, fault_count> spell_{};
  std::vector<Error> errors_;
  std::array<std::uint64_t, fault_count> counts_{};
  std::uint64_t probes_ = 0;
  Judgement last_;
  base::WallTime last_at_{};
};

// Over all legs: no if any leg says no, yes if all say yes.
struct NamedCondition {
  std::string leg;
  Condition condition;
};
Condition sum_up(const std::vector<NamedCondition>& legs);

}  // namespace ebb::canary
