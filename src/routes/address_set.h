// Sets of addresses in CIDR notation (RFC 4632): allow and deny lists, trusted proxies. A look-up is a binary search.
//
// IPv4 and IPv6 are separate: ::/0 contains no IPv4 address. An IPv4 client of a dual-stack socket appears as
// ::ffff:a.b.c.d; the set takes it as a.b.c.d, so that it cannot bypass a list of IPv4 addresses.
#pragma once

#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"

namespace ebb::routes {

using AddressNumber = unsigned __int128;

// One element: all addresses from `first` to `last`.
struct Cidr {
  bool v6 = false;
  AddressNumber first = 0;
  AddressNumber last = 0;

  // "10.0.0.0/8", "fd00::/8", or a single address. The error is the reason. Bits set behind the mask are an error,
  // because either the address or the mask is wrong.
  static std::expected<Cidr, std::string> parse(std::string_view text);
  std::string text() const;
  friend bool operator==(const Cidr&, const Cidr&) = default;
};

class AddressSet {
 public:
  AddressSet() = default;
  explicit AddressSet(std::span<const Cidr> ranges);

  bool empty() const { return ranges_.empty(); }
  // False for an invalid address.
  bool contains(const base::Address& address) const;
  friend bool operator==(const AddressSet&, const AddressSet&) = default;

 private:
  std::vector<Cidr> ranges_;  // sorted, without overlap
};

// The clients that may use a route: none in `deny`; if `allow` is given, only clients in it.
struct AddressFilter {
  AddressSet allow;
  AddressSet deny;

  bool admits(const base::Address& client) const {
    return !deny.contains(client) && (allow.empty() || allow.contains(client));
  }
};

// A numeric address without a port; its port is 0.
std::optional<base::Address> parse_ip(std::string_view text);

}  // namespace ebb::routes
