// Streams on which a client may send no further frames (RFC 9113 5.1, 5.1.1): those whose half it has ended, and those
// whose ids it has skipped. nghttp2 ignores frames on either. The memory is small: frames of long gone streams are
// ignored after all, which is harmless. Streams that we reset are not remembered: frames may be in flight.
//
// Before: h2_frame_scan. Next: h2_session.
#pragma once

#include <array>
#include <cstdint>

#include "wire/h2_frame_scan.h"

namespace ebb::wire {

class H2History {
 public:
  enum class Fate : std::uint8_t {
    possible,
    ended,        // the client ended its half, by END_STREAM or RST_STREAM
    passed_over,  // a higher id came first
  };

  Fate take(const FrameHeader& frame) {
    switch (frame.type) {
      case FrameType::headers:
        if (frame.stream > highest_) {
          open(frame.stream);
        } else if (was_passed_over(frame.stream)) {
          return Fate::passed_over;
        }
        [[fallthrough]];
      case FrameType::data:
        if (has_ended(frame.stream)) return Fate::ended;
        if (frame.ends_stream()) end(frame.stream);
        return Fate::possible;
      case FrameType::reset: end(frame.stream); return Fate::possible;
      default: return Fate::possible;
    }
  }

 private:
  static constexpr std::size_t ended_kept = 64;
  static constexpr std::size_t gaps_kept = 4;

  struct Gap {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
  };

  void open(std::uint32_t stream) {
    if (stream - highest_ > 2) gaps_[next_gap_++ % gaps_kept] = {.first = highest_ + 1, .last = stream - 1};
    highest_ = stream;
  }
  bool was_passed_over(std::uint32_t stream) const {
    for (const Gap& gap : gaps_) {
      if (stream >= gap.first && stream <= gap.last) return true;
    }
    return false;
  }
  // A client's ids are odd.
  void end(std::uint32_t stream) { ended_[stream / 2 % ended_kept] = stream; }
  bool has_ended(std::uint32_t stream) const { return stream != 0 && ended_[stream / 2 % ended_kept] == stream; }

  std::uint32_t highest_ = 0;
  std::size_t next_gap_ = 0;
  std::array<Gap, gaps_kept> gaps_{};
  std::array<std::uint32_t, ended_kept> ended_{};
};

}  // namespace ebb::wire
