// Budgets for frames that are cheap for a peer and expensive for us: resets, control frames, frames without content.
// Pure; the caller passes the time. Within a budget nothing is delayed. Beyond it the connection ends
// (ENHANCE_YOUR_CALM), since slowing down a peer that floods would not help.
//
// Before: h2_frame_scan (every frame's header, also of frames that nghttp2 would silently ignore). Next: h2_session.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "wire/h2_frame_scan.h"

namespace ebb::wire {

// Holds `burst` tokens, refilled at `per_second`. Credit is earned by traffic and does not fade.
class TokenBucket {
 public:
  constexpr TokenBucket(std::uint32_t burst, std::uint32_t per_second)
      : period_(base::Duration{std::chrono::seconds{1}} / per_second), depth_(period_ * burst) {}

  bool take(base::Instant now) {
    if (credit_ > 0) {
      credit_ -= 1;
      return true;
    }
    const base::Instant refilled = std::max(full_at_, now) + period_;
    if (refilled - now > depth_) return false;
    full_at_ = refilled;
    return true;
  }
  void credit(std::uint32_t tokens) { credit_ = std::min(credit_ + tokens, credit_max); }

 private:
  static constexpr std::uint32_t credit_max = 1 << 16;

  base::Duration period_;  // for one token to come back
  base::Duration depth_;
  base::Instant full_at_{};  // when all taken tokens will be back
  std::uint32_t credit_ = 0;
};

class H2Budget {
 public:
  static constexpr std::uint32_t continuations_max = 8;   // per block
  static constexpr std::uint32_t block_bytes_factor = 4;  // times the head limit; a larger block is an attack

  explicit H2Budget(std::uint32_t head_bytes) : block_bytes_max_(head_bytes * block_bytes_factor) {}

  // Each returns nullptr, or the name of the exceeded budget.
  const char* take(const FrameHeader& frame, base::Instant now);
  const char* take_fault(base::Instant now);          // a stream that we refused or reset
  const char* take_empty_payload(base::Instant now);  // DATA with only padding

  // WINDOW_UPDATE and PING answer data (gRPC measures bandwidth by PING): sent data earns them.
  void data_sent() {
    window_updates_.credit(4);
    pings_.credit(1);
  }
  void stream_opened() {
    window_updates_.credit(2);
    others_.credit(4);
  }

 private:
  const char* take_block(const FrameHeader& frame);

  TokenBucket resets_{200, 50};
  TokenBucket pings_{200, 10};
  TokenBucket settings_{20, 1};
  TokenBucket empty_payloads_{100, 10};
  TokenBucket window_updates_{1000, 200};
  TokenBucket others_{200, 10};  // PRIORITY, GOAWAY, and unknown types
  std::uint32_t block_bytes_max_;
  std::uint32_t block_bytes_ = 0;
  std::uint32_t continuations_ = 0;
};

}  // namespace ebb::wire
