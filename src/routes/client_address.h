// The client's address of a request that came through trusted proxies.
#pragma once

#include <cstdint>

#include "base/address.h"
#include "routes/address_set.h"
#include "routes/request_facts.h"

namespace ebb::routes {

struct ClientAddress {
  enum class Hops : std::uint8_t {
    told,
    hidden,    // an element of the field is no address ("unknown", or empty): `address` is the proxy's that wrote it
    too_many,  // more than 32 trusted proxies follow each other: whoever forged that is to be refused, not believed
  };
  base::Address address;
  Hops hops = Hops::told;
};

// The peer itself unless it is trusted; else the last address in X-Forwarded-For that is not a trusted proxy's. The
// elements before that come from unknown writers. The port of an address from the field is 0.
ClientAddress client_address(const base::Address& peer, const HeaderSource& headers, const AddressSet& trusted);

}  // namespace ebb::routes
