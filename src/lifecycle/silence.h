// Is a peer that says nothing still there? Asked by a PING after a while of silence, dead when it does not answer
// (RFC 9113 6.7). Pure: the owner of the connection asks, acts, and comes back when told to.
#pragma once

#include "base/clock.h"

namespace ebb::lifecycle {

struct SilenceLimits {
  base::Duration before_ping = std::chrono::seconds{5};
  base::Duration to_answer = std::chrono::seconds{2};
};

class Silence {
 public:
  enum class Sign : std::uint8_t { alive, ask, dead };

  constexpr void heard(base::Instant now) {
    heard_ = now;
    asked_ = told_ = false;
  }
  // Asks at most once per silence; every byte of the peer is an answer.
  constexpr Sign look(base::Instant now, const SilenceLimits& limits) {
    if (asked_) return now - asked_at_ >= limits.to_answer ? Sign::dead : Sign::alive;
    if (now - heard_ < limits.before_ping) return Sign::alive;
    asked_ = true;
    asked_at_ = now;
    return Sign::ask;
  }
  // It has not answered, and that is not taken for its death: it is given the same time again.
  constexpr void wait_on(base::Instant now) {
    asked_at_ = now;
    told_ = true;
  }
  constexpr bool told() const { return told_; }  // of this silence, by wait_on()
  // When to look again.
  constexpr base::Instant next_look(const SilenceLimits& limits) const {
    return asked_ ? asked_at_ + limits.to_answer : heard_ + limits.before_ping;
  }

 private:
  base::Instant heard_{};
  base::Instant asked_at_{};
  bool asked_ = false;
  bool told_ = false;
};

}  // namespace ebb::lifecycle
