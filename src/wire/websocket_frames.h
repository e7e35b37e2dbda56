// Follows one direction of a WebSocket without reading the payload (RFC 6455 section 5.2) and tells where a frame ends.
// Only there may the router insert a frame, such as Close.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace ebb::wire {

class WebsocketFrames {
 public:
  void take(std::string_view bytes) {
    while (!bytes.empty()) {
      if (payload_ > 0) {
        const std::uint64_t step = payload_ < bytes.size() ? payload_ : bytes.size();
        payload_ -= step;
        bytes.remove_prefix(static_cast<std::size_t>(step));
        continue;
      }
      take_header_byte(static_cast<std::uint8_t>(bytes.front()));
      bytes.remove_prefix(1);
    }
  }
  bool between_frames() const { return seen_ == 0 && payload_ == 0; }

 private:
  // Two bytes, then 0, 2 or 8 of an extended length, then 4 of a mask.
  void take_header_byte(std::uint8_t byte) {
    if (seen_ == 1) {
      const std::uint8_t length = byte & 0x7f;
      length_bytes_ = length == 126 ? 2 : length == 127 ? 8 : 0;
      mask_bytes_ = (byte & 0x80) != 0 ? 4 : 0;
      length_ = length_bytes_ == 0 ? length : 0;
    } else if (seen_ >= 2 && seen_ < 2 + length_bytes_) {
      length_ = (length_ << 8) | byte;
    }
    seen_ += 1;
    if (seen_ < 2 || seen_ < 2 + length_bytes_ + mask_bytes_) return;
    payload_ = length_;
    seen_ = 0;
  }

  std::uint64_t payload_ = 0;  // missing bytes of this frame
  std::uint64_t length_ = 0;
  std::uint8_t seen_ = 0;  // bytes of the header
  std::uint8_t length_bytes_ = 0;
  std::uint8_t mask_bytes_ = 0;
};

// Status 1001: the endpoint is going away (RFC 6455 section 7.4.1).
inline constexpr std::array<char, 4> websocket_going_away = {'\x88', '\x02', '\x03', '\xe9'};
// The same from a client, which must mask: with zeros, which need no randomness.
inline constexpr std::array<char, 8> websocket_going_away_masked = {'\x88', '\x82', 0, 0, 0, 0, '\x03', '\xe9'};

}  // namespace ebb::wire
