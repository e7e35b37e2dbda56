#include "canary/websocket_reader.h"

#include "base/assert.h"

namespace ebb::canary {
namespace {

constexpr std::uint8_t final_bit = 0x80;
constexpr std::uint8_t reserved_bits = 0x70;
constexpr std::uint8_t mask_bit = 0x80;
constexpr std::size_t short_length_max = 125;

enum Opcode : std::uint8_t { continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

std::uint8_t byte(std::string_view bytes, std::size_t at) { return static_cast<std::uint8_t>(bytes[at]); }

}  // namespace

WebsocketReader::Status WebsocketReader::take(std::string_view bytes) {
  if (status_ != Status::more) return status_;
  input_ += bytes;
  std::string_view rest = input_;
  while (status_ == Status::more && rest.size() >= 2) {
    const std::uint8_t first = byte(rest, 0);
    const std::uint8_t second = byte(rest, 1);
    if ((first & reserved_bits) != 0) return refuse("a frame has reserved bits set");
    if ((second & mask_bit) != 0) return refuse("a frame of a server is masked");
    std::uint64_t length = second;
    const std::size_t length_bytes = length == 126 ? 2 : length == 127 ? 8 : 0;
    if ((first & 0x08) != 0 && (length_bytes > 0 || (first & final_bit) == 0)) {
      return refuse("a control frame is long or fragmented");
    }
    if (rest.size() < 2 + length_bytes) break;
    if (length_bytes > 0) length = 0;
    for (std::size_t i = 0; i < length_bytes; ++i) length = (length << 8) | byte(rest, 2 + i);
    if (length > message_bytes_max) return refuse("a frame is longer than what was sent");
    const std::size_t whole = 2 + length_bytes + static_cast<std::size_t>(length);
    if (rest.size() < whole) break;
    take_frame(first, rest.substr(2 + length_bytes, static_cast<std::size_t>(length)));
    rest.remove_prefix(whole);
  }
  input_ = std::string(rest);
  return status_;
}

WebsocketReader::Status WebsocketReader::take_frame(std::uint8_t first, std::string_view payload) {
  switch (first & 0x0f) {
    case ping:
    case pong: return Status::more;
    case close: return status_ = Status::closed;
    case text:
    case binary:
      if (begun_) return refuse("a message begins within another");
      begun_ = true;
      break;
    case continuation:
      if (!begun_) return refuse("a message begins with its continuation");
      break;
    default: return refuse("a frame has an unknown kind");
  }
  if (message_.size() + payload.size() > message_bytes_max) return refuse("a message is longer than what was sent");
  message_ += payload;
  if ((first & final_bit) != 0) status_ = Status::complete;
  return status_;
}

std::string websocket_text(std::string_view text_of_it, std::uint32_t mask) {
  EBB_ASSERT(text_of_it.size() <= short_length_max);
  std::string frame;
  frame += static_cast<char>(final_bit | text);
  frame += static_cast<char>(mask_bit | text_of_it.size());
  char key[4];
  for (int i = 0; i < 4; ++i) key[i] = static_cast<char>(mask >> (8 * i));
  frame.append(key, sizeof(key));
  for (std::size_t i = 0; i < text_of_it.size(); ++i) frame += static_cast<char>(text_of_it[i] ^ key[i % 4]);
  return frame;
}

}  // namespace ebb::canary
