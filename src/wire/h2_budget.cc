#include "wire/h2_budget.h"

namespace ebb::wire {

const char* H2Budget::take(const FrameHeader& frame, base::Instant now) {
  switch (frame.type) {
    case FrameType::data: return frame.length == 0 && !frame.ends_stream() ? take_empty_payload(now) : nullptr;
    case FrameType::headers:
      stream_opened();
      continuations_ = block_bytes_ = 0;
      return take_block(frame);
    case FrameType::continuation: continuations_ += 1; return take_block(frame);
    case FrameType::reset: return resets_.take(now) ? nullptr : "too many stream resets";
    case FrameType::settings: return settings_.take(now) ? nullptr : "too many SETTINGS frames";
    case FrameType::ping: return pings_.take(now) ? nullptr : "too many PING frames";
    case FrameType::window_update: return window_updates_.take(now) ? nullptr : "too many WINDOW_UPDATE frames";
    default: return others_.take(now) ? nullptr : "too many frames without effect";
  }
}

const char* H2Budget::take_block(const FrameHeader& frame) {
  block_bytes_ += frame.length;
  if (continuations_ > continuations_max) return "too many CONTINUATION frames";
  return block_bytes_ > block_bytes_max_ ? "header block far beyond the limit" : nullptr;
}

const char* H2Budget::take_fault(base::Instant now) {
  return resets_.take(now) ? nullptr : "too many streams that had to be refused";
}

const char* H2Budget::take_empty_payload(base::Instant now) {
  return empty_payloads_.take(now) ? nullptr : "too many empty DATA frames";
}

}  // namespace ebb::wire
