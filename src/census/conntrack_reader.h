// One message of ctnetlink as an address translation. Pure; translations.h queries the kernel and looks up.
#pragma once

#include <cstdint>
#include <expected>

#include "base/address.h"
#include "census/netlink_reader.h"

namespace ebb::census {

// A direction of a connection, as in connection tracking.
struct Tuple {
  base::Address source;
  base::Address destination;
};

struct Tracked {
  Tuple original;
  Tuple reply;           // equals the reversed original unless addresses are translated
  std::uint32_t id = 0;  // the kernel's id of this entry, in its own byte order
  bool translated() const { return original.source != reply.destination || original.destination != reply.source; }
};

enum class TrackedFault : std::uint8_t { other_protocol, malformed };

std::expected<Tracked, TrackedFault> read_conntrack_message(Bytes body);

}  // namespace ebb::census
