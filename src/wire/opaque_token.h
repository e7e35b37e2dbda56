// A short text that stands for a number and hides it. Made with SHA-256: every process makes the same text, and nobody
// can compute the number from it.
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

// The purpose separates uses: a token of one use is invalid in another.
OpaqueToken opaque_token(std::string_view purpose, std::uint64_t number);

}  // namespace ebb::wire
