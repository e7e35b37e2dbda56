// The client's address for a request that came through trusted proxies.
#pragma once

#include <cstdint>

#include "base/address.h"
#include "routes/address_set.h"
#include "routes/request_facts.h"

namespace ebb::routes {

struct ClientAddress {
  enum class Hops : std::uint8_t {
    told,
    hidden,    // an element is no address ("unknown", or empty): `address` is that of the proxy that wrote it
    too_many,  // more than 32 trusted proxies in a row: a forgery, to be refused
  };
  base::Address address;
  Hops hops = Hops::told;
};

// The peer, unless it is trusted; else the last address in X-Forwarded-For that is not a trusted proxy's. Elements
// before that come from unknown writers. An address from the field has port 0.
ClientAddress client_address(const base::Address& peer, const HeaderSource& headers, const AddressSet& trusted);

}  // namespace ebb::routes
