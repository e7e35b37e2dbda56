// IPv4 and IPv6 addresses in the place of a host name, which TLS and HTTP verify and write differently.
#pragma once

#include <string>
#include <string_view>

namespace ebb::base {

// The address in its canonical text (RFC 5952), without the brackets that an IPv6 address may have; "" if it is none.
std::string literal_address(std::string_view text);

// The same where a port may follow: an IPv6 address in brackets (RFC 3986 section 3.2.2), anything else as it is.
std::string as_authority(std::string_view host);

}  // namespace ebb::base
