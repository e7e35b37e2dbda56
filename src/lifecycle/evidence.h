// What one worker's own traffic says about an endpoint. Pure: gate/health feeds it and acts on it.
//
// How long an answer may take is the endpoint's own affair: what counts is how surprising it is that nothing comes.
#pragma once

#include <algorithm>

#include "base/clock.h"

namespace ebb::lifecycle {

class Evidence {
 public:
  static constexpr base::Duration patience_min = std::chrono::seconds{1};
  static constexpr base::Duration trial_min = std::chrono::milliseconds{250};
  static constexpr std::uint32_t failures_in_a_row = 5;

  // The first byte of a response. `failed`: the endpoint says that it cannot serve (5xx).
  constexpr void answered(base::Duration taken, base::Instant now, bool failed) {
    late_ += taken > patience() ? 1 : 0;
    answers_ += 1;
    usual_ = answers_ == 1 ? taken : usual_ + (taken - usual_) / 16;
    if (answers_ >= memory) answers_ /= 2, late_ /= 2;
    answered_at_ = now;
    failures_ = failed ? failures_ + 1 : 0;
  }
  // It broke a fresh connection off instead of an answer. A pooled one that it closes is no failure.
  constexpr void broke_off() { failures_ += 1; }
  constexpr bool fails_always() const { return failures_ >= failures_in_a_row; }
  // It gets another chance, and a single failure ends it.
  constexpr void on_probation() { failures_ = failures_in_a_row - 1; }

  // Silence up to this is nothing special.
  constexpr base::Duration patience() const { return std::max(patience_min, 10 * usual_); }
  constexpr base::Duration trial_time() const { return std::max(trial_min, 10 * usual_); }
  constexpr base::Instant answered_at() const { return answered_at_; }

  // `overdue`: requests that have waited for longer than patience() while nothing came from the endpoint at all. By
  // nature slow ones are expected to be among them; that all are slow by nature must be less likely than one in 10,000.
  constexpr bool is_silent(std::uint32_t overdue) const {
    if (overdue < 2 || answers_ == 0) return false;
    const double slow = std::max(0.01, static_cast<double>(late_) / answers_);
    double chance = 1;
    for (std::uint32_t i = 0; i < overdue && chance > 1e-4 * 1.001; ++i) chance *= slow;
    return chance <= 1e-4 * 1.001;
  }

 private:
  static constexpr std::uint32_t memory = 1000;

  base::Duration usual_{};
  std::uint32_t answers_ = 0;
  std::uint32_t late_ = 0;
  std::uint32_t failures_ = 0;
  base::Instant answered_at_{};
};

}  // namespace ebb::lifecycle
