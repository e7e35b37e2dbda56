#include "canary/websocket_echo.h"

#include <algorithm>

#include "wire/websocket_frames.h"

namespace ebb::canary {

namespace {

constexpr std::uint8_t final_bit = 0x80;
constexpr std::uint8_t reserved_bits = 0x70;
constexpr std::uint8_t mask_bit = 0x80;
constexpr std::uint8_t length_bits = 0x7f;
constexpr std::uint8_t control_length_max = 125;
constexpr std::string_view protocol_error = "\x88\x02\x03\xea";  // Close with status 1002

}  // namespace

void WebsocketEcho::take(std::string_view bytes, std::string& out) {
  while (!bytes.empty() && !over_) {
    if (!in_frame_) {
      header_[seen_++] = static_cast<std::uint8_t>(bytes.front());
      bytes.remove_prefix(1);
      if (seen_ < 2 || seen_ < header_size()) continue;
      if (!header_is_good()) return fail(out);
      begin_frame(out);
    }
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(payload_, bytes.size()));
    for (std::size_t i = 0; i < count && !dropped_; ++i) {
      out.push_back(static_cast<char>(static_cast<std::uint8_t>(bytes[i]) ^ mask_[mask_at_++ % mask_.size()]));
    }
    payload_ -= count;
    bytes.remove_prefix(count);
    if (payload_ == 0) end_frame(out);
  }
}

void WebsocketEcho::leave(std::string& out) {
  leaving_ = true;
  if (in_frame_ || close_sent_) return;  // else Close follows the frame
  close_sent_ = true;
  out.append(wire::websocket_going_away.data(), wire::websocket_going_away.size());
}

std::size_t WebsocketEcho::header_size() const {
  const std::uint8_t length = header_[1] & length_bits;
  const std::size_t longer = length == 126 ? 2 : length == 127 ? 8 : 0;
  return 2 + longer + ((header_[1] & mask_bit) != 0 ? mask_.size() : 0);
}

// RFC 6455 sections 5.1 (clients mask), 5.2 (reserved bits, known opcodes, lengths below 2^63), 5.5 (control frames).
bool WebsocketEcho::header_is_good() const {
  if ((header_[0] & reserved_bits) != 0 || (header_[1] & mask_bit) == 0) return false;
  const std::uint8_t length = header_[1] & length_bits;
  if (length == 127 && (header_[2] & 0x80) != 0) return false;
  switch (opcode()) {
    case continuation:
    case text:
    case binary: return true;
    case close:
    case ping:
    case pong: return (header_[0] & final_bit) != 0 && length <= control_length_max;
  }
  return false;
}

void WebsocketEcho::begin_frame(std::string& out) {
  const std::size_t unmasked = header_size() - mask_.size();
  std::copy_n(header_.begin() + unmasked, mask_.size(), mask_.begin());
  payload_ = header_[1] & length_bits;
  if (unmasked > 2) {
    payload_ = 0;
    for (std::size_t i = 2; i < unmasked; ++i) payload_ = payload_ << 8 | header_[i];
  }
  mask_at_ = 0;
  in_frame_ = true;
  // A Pong needs no answer; after our Close no frame may be sent.
  dropped_ = opcode() == pong || close_sent_;
  if (dropped_) return;
  const auto first = opcode() == ping ? static_cast<std::uint8_t>(final_bit | pong) : header_[0];
  out.push_back(static_cast<char>(first));
  out.push_back(static_cast<char>(header_[1] & length_bits));
  out.append(reinterpret_cast<const char*>(header_.data()) + 2, unmasked - 2);
}

void WebsocketEcho::end_frame(std::string& out) {
  in_frame_ = false;
  seen_ = 0;
  over_ = opcode() == close;
  if (leaving_ && !over_) leave(out);
}

void WebsocketEcho::fail(std::string& out) {
  if (!close_sent_) out.append(protocol_error);
  over_ = true;
}

}  // namespace ebb::canary
