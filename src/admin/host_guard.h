// A web page of any site can make its visitor's browser send requests to 127.0.0.1. With DNS rebinding it can even read
// the answers, because the page's own name then resolves to this machine. The browser still sends that name in Host, so
// the admin server accepts only names of this machine.
#pragma once

#include <string_view>

#include "base/address.h"

namespace ebb::admin {

// `authority` as in the request: localhost, a loopback address or the listener's address, with any port or none (ports
// may be forwarded). Empty is accepted: only HTTP/1.0 can omit Host, and browsers do not use it.
bool means_this_machine(std::string_view authority, const base::Address& listening);

}  // namespace ebb::admin
