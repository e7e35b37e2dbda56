// The 64 bits that the kernel returns with an event or completion: a kind and a handle. A late event of a closed socket
// names an old generation and finds nothing.
#pragma once

#include <cstdint>

#include "base/slot_map.h"

namespace ebb::reactor {

struct Token {
  std::uint8_t kind = 0;  // below 16
  base::Handle handle;

  constexpr std::uint64_t packed() const {
    return std::uint64_t{kind} << 60 | std::uint64_t{handle.slot} << 32 | handle.generation;
  }
  static constexpr Token unpacked(std::uint64_t bits) {
    return {static_cast<std::uint8_t>(bits >> 60),
            {static_cast<std::uint32_t>(bits >> 32) & 0x0fffffffu, static_cast<std::uint32_t>(bits)}};
  }
};

}  // namespace ebb::reactor
