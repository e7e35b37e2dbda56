// How long answers of one kind took until their first byte: a histogram on a logarithmic scale, two steps to the
// octave, with a memory of about a thousand answers. Pure.
#pragma once

#include <array>
#include <bit>

#include "base/clock.h"

namespace ebb::lifecycle {

class AnswerTimes {
 public:
  static constexpr std::uint32_t memory = 1000;
  static constexpr std::size_t steps = 44;  // up to half an hour

  constexpr void note(base::Duration taken) {
    counts_[step_of(taken)] += 1;
    if (++answers_ >= memory) fade();
  }
  // Somebody has stopped waiting: the answer would have taken longer, as those that did take longer say. Where none
  // did, nobody knows how long.
  constexpr void note_longer(base::Duration waited) {
    const std::uint32_t longer = longer_than(waited);
    if (longer == 0) return note(base::Duration::max());
    // In turn, so that all of them are as frequent afterwards as before.
    given_up_ += turn;
    std::uint32_t skipped = static_cast<std::uint32_t>((std::uint64_t{given_up_} * longer) >> 32);
    std::size_t step = step_of(waited);
    while (skipped >= counts_[step]) skipped -= counts_[step++];
    note(beginning(step));
  }
  constexpr void add(const AnswerTimes& other) {
    for (std::size_t i = 0; i < steps; ++i) counts_[i] += other.counts_[i];
    answers_ += other.answers_;
  }
  constexpr std::uint32_t answers() const { return answers_; }
  // An answer of the same step as `waited` counts as a longer one: that errs on the side of slowness.
  constexpr std::uint32_t longer_than(base::Duration waited) const {
    std::uint32_t sum = 0;
    for (std::size_t i = step_of(waited); i < steps; ++i) sum += counts_[i];
    return sum;
  }
  // The beginning of the next step.
  static constexpr base::Duration step_after(base::Duration taken) {
    return beginning(std::min(step_of(taken) + 1, steps - 1));
  }

 private:
  static constexpr unsigned first_width = 11;        // of 1024 us
  static constexpr std::uint32_t turn = 2654435769;  // of 2^32, by the golden ratio: successive turns spread evenly

  static constexpr std::size_t step_of(base::Duration taken) {
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(taken).count();
    if (us < 1024) return 0;
    const auto width = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(us)));
    const std::size_t half = (static_cast<std::uint64_t>(us) >> (width - 2)) & 1;
    return std::min<std::size_t>(1 + 2 * (width - first_width) + half, steps - 1);
  }
  static constexpr base::Duration beginning(std::size_t step) {
    if (step == 0) return {};
    return std::chrono::microseconds{static_cast<std::int64_t>(2 + (step - 1) % 2) << ((step - 1) / 2 + 9)};
  }
  // Rounded up: what is rare and slow is not forgotten first.
  constexpr void fade() {
    answers_ = 0;
    for (std::uint32_t& count : counts_) answers_ += count = (count + 1) / 2;
  }

  std::array<std::uint32_t, steps> counts_{};
  std::uint32_t answers_ = 0;
  std::uint32_t given_up_ = 0;
};

}  // namespace ebb::lifecycle
