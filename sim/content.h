// Bodies whose every byte says whose it is and where it belongs: a byte that is lost, doubled, moved or given to
// another client shows at once. A stream is one direction of one exchange.
#pragma once

#include <algorithm>
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
    // The step is odd, so neighbours differ and the pattern has period 256; the upper bytes of the position move it on.
    const std::uint64_t value = (key_ >> 56) + (key_ >> 40) * (position >> 12) + position * step + (position >> 8) * 7;
    return static_cast<char>(value);
  }
  std::string text(std::uint64_t from, std::uint64_t count) const {
    std::string bytes(count, '\0');
    for (std::uint64_t i = 0; i < count;) {
      const std::uint64_t run = std::min(count - i, run_at(from + i));
      const auto first = static_cast<unsigned char>(at(from + i));
      for (std::uint64_t j = 0; j < run; ++j) bytes[i + j] = static_cast<char>(first + step * j);
      i += run;
    }
    return bytes;
  }
  bool matches(std::uint64_t from, std::string_view bytes) const {
    for (std::uint64_t i = 0; i < bytes.size();) {
      const std::uint64_t run = std::min(bytes.size() - i, run_at(from + i));
      const auto first = static_cast<unsigned char>(at(from + i));
      bool same = true;
      for (std::uint64_t j = 0; j < run; ++j) same &= bytes[i + j] == static_cast<char>(first + step * j);
      if (!same) return false;
      i += run;
    }
    return true;
  }

 private:
  static constexpr std::uint64_t step = 31;
  // Bytes from there on that only differ by steps: a loop over them needs nothing else.
  static std::uint64_t run_at(std::uint64_t position) { return 256 - position % 256; }

  std::uint64_t key_;
};

}  // namespace ebb::sim
