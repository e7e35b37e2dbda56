// A client as limits count it: an IPv4 address (also if mapped into IPv6), or the /64 of an IPv6 address, because the
// owner of one such address usually has the whole /64.
#pragma once

#include <cstdint>

#include "base/address.h"
#include "base/rng.h"

namespace ebb::routes {

struct ClientNetwork {
  std::uint64_t bits = 0;
  bool v6 = false;

  static ClientNetwork of(const base::Address& client);
  // The seed prevents clients from choosing addresses that collide in a table.
  std::uint64_t hash(std::uint64_t seed) const { return base::Rng(base::Rng(seed ^ bits).next() ^ v6).next(); }
  friend bool operator==(const ClientNetwork&, const ClientNetwork&) = default;
};

}  // namespace ebb::routes
