// Finds the frame headers (RFC 9113 4.1) in a stream of bytes, however it is split. nghttp2 reads the frames; this only
// counts them, including those that nghttp2 silently ignores.
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

  static constexpr std::uint32_t priority_length = 5;

  std::uint32_t length = 0;  // 24 bits
  FrameType type = FrameType::data;
  std::uint8_t flags = 0;
  std::uint32_t stream = 0;
  std::uint32_t dependency = 0;  // PRIORITY of the right length: the dependency

  bool ends_stream() const { return (flags & end_stream_flag) != 0; }
  // RFC 9113 6.3. With RFC 7540 priorities disabled, nghttp2 ignores these frames altogether.
  bool is_broken_priority() const {
    return type == FrameType::priority && (length != priority_length || stream == 0 || dependency == stream);
  }
};

class FrameScan {
 public:
  // `preface`: bytes before the first frame.
  explicit FrameScan(std::uint32_t preface) : skip_(preface) {}

  // Moves over `bytes` (at least one) to the end of the next frame header, or of the bytes; true if a header ended. The
  // header of PRIORITY includes its dependency.
  bool next(std::string_view& bytes, FrameHeader& header) {
    const std::size_t skipped = std::min<std::size_t>(skip_, bytes.size());
    skip_ -= static_cast<std::uint32_t>(skipped);
    bytes.remove_prefix(skipped);
    if (!hold(bytes, FrameHeader::size)) return false;
    header = {.length = number_at(0) >> 8,
              .type = static_cast<FrameType>(header_[3]),
              .flags = header_[4],
              .stream = number_at(5) & stream_bits};
    const bool depends = header.type == FrameType::priority && header.length == FrameHeader::priority_length;
    if (depends) {
      if (!hold(bytes, sizeof header_)) return false;
      header.dependency = number_at(FrameHeader::size) & stream_bits;
    }
    skip_ = header.length - (depends ? dependency_size : 0);
    held_ = 0;
    return true;
  }

 private:
  static constexpr std::size_t dependency_size = 4;
  static constexpr std::uint32_t stream_bits = 0x7fffffff;

  // True once `size` bytes are held.
  bool hold(std::string_view& bytes, std::size_t size) {
    const std::size_t taken = held_ < size ? std::min(size - held_, bytes.size()) : 0;
    if (taken > 0) std::memcpy(header_ + held_, bytes.data(), taken);
    held_ += taken;
    bytes.remove_prefix(taken);
    return held_ >= size;
  }
  std::uint32_t number_at(std::size_t at) const {
    return std::uint32_t{header_[at]} << 24 | std::uint32_t{header_[at + 1]} << 16 |
           std::uint32_t{header_[at + 2]} << 8 | header_[at + 3];
  }

  std::uint32_t skip_;  // of the preface, or of a frame's payload
  std::size_t held_ = 0;
  std::uint8_t header_[FrameHeader::size + dependency_size] = {};
};

}  // namespace ebb::wire
