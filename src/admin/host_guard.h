// A web page of any site can make its visitor's browser send requests to 127.0.0.1, and by DNS rebinding even read the
// answers, because its own name then resolves to this machine. The browser still sends that name in Host: so only
// names that mean this machine are served.
#pragma once

#include <string_view>

#include "base/address.h"

namespace ebb::admin {

// `authority` as in the request: localhost, a loopback address or the address that is listened on, with any port or
// none (ports are forwarded). Empty is accepted: only HTTP/1.0 can leave Host out, and no browser does.
bool means_this_machine(std::string_view authority, const base::Address& listening);

}  // namespace ebb::admin
