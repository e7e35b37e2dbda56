// Bodies whose every byte says whose it is and where it belongs: a byte that is lost, doubled, moved or given to
// another client shows at once. A stream is one direction of one exchange.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ebb::sim {

enum class Direction : std::uint8_t { request, response };

class Content {
 public:
  Content(std::uint64_t exchange, Direction direction)
      : key_((exchange * 2 + static_cast<std::uint64_t>(direction)) * 0x9e3779b97f4a7c15u) {}

  char at(std::uint64_t position) const {
    // 31 is odd, so neighbours differ and the pattern has period 256; the upper bytes of the position move it on.
    const std::uint64_t value = (key_ >> 56) + (key_ >> 40) * (position >> 12) + position * 31 + (position >> 8) * 7;
    return static_cast<char>(value);
  }
  std::string text(std::uint64_t from, std::uint64_t count) const {
    std::string bytes(count, '\0');
    for (std::uint64_t i = 0; i < count; ++i) bytes[i] = at(from + i);
    return bytes;
  }
  bool matches(std::uint64_t from, std::string_view bytes) const {
    for (std::size_t i = 0; i < bytes.size(); ++i)
      if (bytes[i] != at(from + i)) return false;
    return true;
  }

 private:
  std::uint64_t key_;
};

}  // namespace ebb::sim
