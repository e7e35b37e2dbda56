// A short text that stands for a number and does not show it. It is made with SHA-256: every process makes the same
// text, and the number cannot be read back.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace ebb::wire {

struct OpaqueToken {
  std::array<char, 16> characters{};  // base64url: 96 bits

  std::string_view view() const { return {characters.data(), characters.size()}; }
  friend bool operator==(const OpaqueToken&, const OpaqueToken&) = default;
};

// The purpose keeps tokens of one use from meaning anything in another.
OpaqueToken opaque_token(std::string_view purpose, std::uint64_t number);

}  // namespace ebb::wire
