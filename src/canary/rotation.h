// The port that the canary's route should lead to. After some good rounds the canary moves the route to the next port.
// If the answers follow, the router takes changes. Pure.
//
//            `rounds` good ones: wanted() is the next port
//    settled ──────────────────────────────────────────────▶ moving
//       ▲                                                       │ the old port is still right
//       └───────────────────────────────────────────────────────┘
//                               grace
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace ebb::canary {

struct RotationPlan {
  std::vector<std::uint16_t> ports = {};           // fewer than two: no rotation
  std::uint32_t rounds = 5;                        // good rounds in a row before the next move
  base::Duration grace = std::chrono::seconds{5};  // for the change to reach every worker
};

class PortRotation {
 public:
  explicit PortRotation(RotationPlan plan = {}) : plan_(std::move(plan)) {}

  std::optional<std::uint16_t> wanted() const {
    return plan_.ports.empty() ? std::nullopt : std::optional(plan_.ports[at_]);
  }
  // The ports that may answer a request sent now; empty: not checked.
  std::vector<std::uint16_t> right_ports(base::Instant now) const {
    if (plan_.ports.empty()) return {};
    std::vector<std::uint16_t> right = {plan_.ports[at_]};
    if (moves_ > 0 && now < moved_at_ + plan_.grace) right.push_back(plan_.ports[before_]);
    return right;
  }
  const std::vector<std::uint16_t>& ports() const { return plan_.ports; }
  std::uint64_t moves() const { return moves_; }

  // True if wanted() has changed.
  bool round_ended(bool good, base::Instant now) {
    good_rounds_ = good ? good_rounds_ + 1 : 0;
    if (good_rounds_ < plan_.rounds || plan_.ports.size() < 2) return false;
    good_rounds_ = 0;
    before_ = std::exchange(at_, (at_ + 1) % plan_.ports.size());
    moved_at_ = now;
    moves_ += 1;
    return true;
  }

 private:
  RotationPlan plan_;
  std::size_t at_ = 0;
  std::size_t before_ = 0;
  base::Instant moved_at_{};
  std::uint64_t moves_ = 0;
  std::uint32_t good_rounds_ = 0;
};

// A round is over when every leg was probed since it began. Each leg keeps its own time.
class Rounds {
 public:
  enum class Outcome : std::uint8_t {
    good,
    bad,
    excused,  // failed as known of this leg; one failed replica does not prevent proof for the others
  };

  explicit Rounds(std::size_t legs = 0) : walked_(legs, false) {}

  // Returns whether the round was good, if this ends it.
  std::optional<bool> note(std::size_t leg, Outcome outcome) {
    if (outcome == Outcome::good) good_ = true;
    if (outcome == Outcome::bad) bad_ = true;
    if (!walked_[leg]) {
      walked_[leg] = true;
      walked_count_ += 1;
    }
    if (walked_count_ < walked_.size()) return std::nullopt;
    walked_.assign(walked_.size(), false);
    walked_count_ = 0;
    const bool good = !std::exchange(bad_, false);
    return std::exchange(good_, false) && good;
  }

 private:
  std::vector<bool> walked_;
  std::size_t walked_count_ = 0;
  bool good_ = false;  // a leg was good
  bool bad_ = false;
};

}  // namespace ebb::canary
