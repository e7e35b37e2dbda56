// One knock at a node: several connections in turn, so that one lost packet proves nothing, and the verdict from their
// outcomes. Pure.
#pragma once

#include <optional>
#include <span>

#include "base/clock.h"

namespace ebb::reap {

enum class KnockResult : std::uint8_t {
  answered,      // connected, or refused: the node is alive
  failed,        // no answer
  inconclusive,  // not sent; says nothing about the node
};

struct KnockTimes {
  static constexpr std::uint32_t proof = 3;  // this many lost attempts prove silence
  static constexpr base::Duration apart = std::chrono::milliseconds{200};
  static constexpr base::Duration patience_min = std::chrono::milliseconds{200};
  static constexpr base::Duration patience_max = std::chrono::seconds{1};

  std::uint32_t attempts = proof;
  base::Duration patience = patience_min;  // after the last attempt

  // `answer`: the time within which peers there have answered before.
  static constexpr base::Duration patience_for(base::Duration answer) {
    return answer < patience_min ? patience_min : answer > patience_max ? patience_max : answer;
  }
};

class KnockSeries {
 public:
  KnockSeries(base::Instant begin, const KnockTimes& times) : times_(times), due_(begin) {}

  // True: send an attempt now; it counts as sent. A late attempt does not make the next one early.
  bool take_attempt(base::Instant now);
  // `outcomes` of the sent attempts; empty: no answer yet. Returns empty while undecided.
  std::optional<KnockResult> judge(base::Instant now, std::span<const std::optional<KnockResult>> outcomes) const;
  // When to act next, whatever comes back.
  base::Instant due() const { return due_; }

 private:
  bool all_sent() const { return sent_ == times_.attempts; }

  KnockTimes times_;
  base::Instant due_;
  std::uint32_t sent_ = 0;
};

}  // namespace ebb::reap
