// The server's end of a WebSocket (RFC 6455 section 5) that echoes its input: each frame returns unmasked while it
// still arrives, a Ping as a Pong; a Close is answered and ends it. Keeps only the current header, so a frame may have
// any length.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace ebb::canary {

class WebsocketEcho {
 public:
  // Appends to `out`. Reads nothing after the end.
  void take(std::string_view bytes, std::string& out);
  // Sends a Close between two frames; the peer answers with its Close.
  void leave(std::string& out);
  bool over() const { return over_; }

 private:
  enum Opcode : std::uint8_t { continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };
  static constexpr std::size_t header_max = 14;  // 2 bytes, 8 of the length, 4 of the mask

  std::size_t header_size() const;
  bool header_is_good() const;
  void begin_frame(std::string& out);
  void end_frame(std::string& out);
  void fail(std::string& out);
  Opcode opcode() const { return static_cast<Opcode>(header_[0] & 0x0f); }

  std::array<std::uint8_t, header_max> header_{};
  std::size_t seen_ = 0;       // bytes of the header
  std::uint64_t payload_ = 0;  // missing bytes of the frame
  std::uint32_t mask_at_ = 0;  // index for the next byte
  std::array<std::uint8_t, 4> mask_{};
  bool in_frame_ = false;
  bool dropped_ = false;  // the current frame is not echoed
  bool leaving_ = false;  // our Close is pending, or was sent
  bool close_sent_ = false;
  bool over_ = false;
};

}  // namespace ebb::canary
