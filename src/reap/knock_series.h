// One knock at a node: connections one after the other, so that a lost packet is no proof, and what their outcomes say
// together. Pure.
#pragma once

#include <optional>
#include <span>

#include "base/clock.h"

namespace ebb::reap {

enum class KnockResult : std::uint8_t {
  answered,      // connected, or refused: somebody is there
  failed,        // nothing came back
  inconclusive,  // it could not be sent; says nothing about the node
};

struct KnockTimes {
  static constexpr std::uint32_t proof = 3;  // lost packets prove a silence
  static constexpr base::Duration apart = std::chrono::milliseconds{200};
  static constexpr base::Duration patience_min = std::chrono::milliseconds{200};
  static constexpr base::Duration patience_max = std::chrono::seconds{1};

  std::uint32_t attempts = proof;
  base::Duration patience = patience_min;  // after the last

  // `answer`: within that time peers there have answered before.
  static constexpr base::Duration patience_for(base::Duration answer) {
    return answer < patience_min ? patience_min : answer > patience_max ? patience_max : answer;
  }
};

class KnockSeries {
 public:
  KnockSeries(base::Instant begin, const KnockTimes& times) : times_(times), due_(begin) {}

  // True: now one is to be sent, and counts as sent. One that was late does not make the next one early.
  bool take_attempt(base::Instant now);
  // Of those that were sent; none: nothing has come back yet. None: not decided.
  std::optional<KnockResult> judge(base::Instant now, std::span<const std::optional<KnockResult>> outcomes) const;
  // When there is something to do, whatever comes back.
  base::Instant due() const { return due_; }

 private:
  bool all_sent() const { return sent_ == times_.attempts; }

  KnockTimes times_;
  base::Instant due_;
  std::uint32_t sent_ = 0;
};

}  // namespace ebb::reap
