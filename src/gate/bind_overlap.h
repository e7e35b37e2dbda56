// Addresses of listeners that stand in each other's way: "every address" has all others of its family in it. (Sockets
// of IPv6 are for IPv6 only here.)
#pragma once

#include "base/address.h"

namespace ebb::gate {

inline bool binds_every_address(const base::Address& address) {
  auto every = base::Address::parse(address.family() == AF_INET6 ? "[::]:0" : "0.0.0.0:0");
  every->set_port(address.port());
  return *every == address;
}

// A connection to `narrow` would reach a socket at `wide`, if there were none at `narrow`.
inline bool bind_covers(const base::Address& wide, const base::Address& narrow) {
  return wide == narrow ||
         (wide.family() == narrow.family() && wide.port() == narrow.port() && binds_every_address(wide));
}

inline bool binds_overlap(const base::Address& a, const base::Address& b) {
  return bind_covers(a, b) || bind_covers(b, a);
}

}  // namespace ebb::gate
