// Finds the frame headers (RFC 9113 4.1) in a stream of bytes, however it is cut. nghttp2 reads the frames; this only
// counts them, also those that nghttp2 ignores without a word.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ebb::wire {

enum class FrameType : std::uint8_t {
  data = 0,
  headers = 1,
  priority = 2,
  reset = 3,
  settings = 4,
  push_promise = 5,
  ping = 6,
  goaway = 7,
  window_update = 8,
  continuation = 9,
};

struct FrameHeader {
  static constexpr std::size_t size = 9;
  static constexpr std::uint8_t end_stream_flag = 1;

  std::uint32_t length = 0;  // 24 bits
  FrameType type = FrameType::data;
  std::uint8_t flags = 0;

  bool ends_stream() const { return (flags & end_stream_flag) != 0; }
};

class FrameScan {
 public:
  // `preface`: bytes before the first frame.
  explicit FrameScan(std::uint32_t preface) : skip_(preface) {}

  // Moves over `bytes` (at least one) up to the end of the next frame header or of the bytes; true if a header ended.
  bool next(std::string_view& bytes, FrameHeader& header) {
    const std::size_t skipped = std::min<std::size_t>(skip_, bytes.size());
    skip_ -= static_cast<std::uint32_t>(skipped);
    bytes.remove_prefix(skipped);
    const std::size_t taken = std::min(FrameHeader::size - held_, bytes.size());
    if (taken == 0) return false;
    std::memcpy(header_ + held_, bytes.data(), taken);
    held_ += taken;
    bytes.remove_prefix(taken);
    if (held_ < FrameHeader::size) return false;
    header = {.length = std::uint32_t{header_[0]} << 16 | std::uint32_t{header_[1]} << 8 | header_[2],
              .type = static_cast<FrameType>(header_[3]),
              .flags = header_[4]};
    skip_ = header.length;
    held_ = 0;
    return true;
  }

 private:
  std::uint32_t skip_;  // of the preface, or of a frame's payload
  std::size_t held_ = 0;
  std::uint8_t header_[FrameHeader::size] = {};
};

}  // namespace ebb::wire
