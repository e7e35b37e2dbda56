// A small seeded generator (splitmix64). Not for secrets: OpenSSL provides those.
#pragma once

#include <cstdint>

namespace ebb::base {

class Rng {
 public:
  explicit constexpr Rng(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound); bound > 0. The bias of the multiply-shift is below 2^-32 for our bounds.
  constexpr std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }
  constexpr std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + below(high - low + 1); }
  constexpr bool chance(std::uint32_t per_thousand) { return below(1000) < per_thousand; }

 private:
  std::uint64_t state_;
};

}  // namespace ebb::base
