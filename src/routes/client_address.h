// Who a request comes from when it came through proxies that we trust.
#pragma once

#include "base/address.h"
#include "routes/address_set.h"
#include "routes/request_facts.h"

namespace ebb::routes {

// The peer itself unless it is trusted; else the last address in X-Forwarded-For that is not a trusted proxy's. What
// stands before that was written by somebody whom nobody here knows. The port of an address from the field is 0.
base::Address client_address(const base::Address& peer, const HeaderSource& headers, const AddressSet& trusted);

}  // namespace ebb::routes
