// Reads the first message from a server on a WebSocket (RFC 6455 section 5): joins its frames and skips control frames
// between them. Pure; the result does not depend on where the input is split.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ebb::canary {

class WebsocketReader {
 public:
  enum class Status : std::uint8_t {
    more,
    complete,
    closed,   // a Close frame
    refused,  // violates the protocol, or too long: see why()
  };
  static constexpr std::size_t message_bytes_max = 4096;

  Status take(std::string_view bytes);
  const std::string& message() const { return message_; }
  const char* why() const { return why_; }

 private:
  Status take_frame(std::uint8_t first, std::string_view payload);
  Status refuse(const char* why) {
    why_ = why;
    return status_ = Status::refused;
  }

  std::string input_;  // a partial frame
  std::string message_;
  bool begun_ = false;  // the first frame of the message has arrived
  Status status_ = Status::more;
  const char* why_ = "";
};

// A whole text message in one frame, masked as a client must (section 5.3). At most 125 bytes.
std::string websocket_text(std::string_view text, std::uint32_t mask);

}  // namespace ebb::canary
