// The descriptors that a reactor holds: one side of the self-audit, which compares them with the kernel's. A walk in
// steps, so that it never delays a round for long.
#pragma once

#include <cstdint>
#include <vector>

#include "base/cause.h"
#include "base/clock.h"
#include "base/slot_map.h"
#include "base/timer_wheel.h"

namespace ebb::reactor {

struct Holding {
  enum class Kind : std::uint8_t {
    own,  // of the loop itself: its set or ring, its mailbox, its pipes
    listener,
    datagrams,  // bound
    flow,       // of datagrams: connected
    open,       // its owner uses it, or has still to be told that it failed
    lingering,  // closed by its owner; output is on its way
    closing,    // the same, and only the kernel's last completion is awaited
  };
  int descriptor = -1;
  Kind kind = Kind::own;
  base::Cause failure = base::Cause::none;
  std::uint64_t inode = 0;  // of the object behind it, as it was at the first look; 0: not known, or of no matter
  base::Handle socket{};
  base::Owner owner{};
  base::Instant opened{};
};
using Holdings = std::vector<Holding>;

struct HoldingsCursor {
  std::uint32_t part = 0;
  std::uint32_t slot = 0;
};

inline constexpr std::uint32_t holdings_at_once = 256;  // slots of one step

inline std::uint32_t whole_seconds(base::Instant instant) {
  return static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::seconds>(instant.time_since_epoch()).count());
}

// 0: it is not open.
std::uint64_t inode_of(int descriptor);

}  // namespace ebb::reactor
