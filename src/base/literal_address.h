// IPv4 and IPv6 literals in place of a host name. TLS and HTTP verify and write them differently.
#pragma once

#include <string>
#include <string_view>

namespace ebb::base {

// The canonical text of an address (RFC 5952), without the brackets of IPv6; "" if the text is not an address.
std::string literal_address(std::string_view text);

// The same where a port may follow: brackets around IPv6 (RFC 3986 section 3.2.2); other texts stay unchanged.
std::string as_authority(std::string_view host);

}  // namespace ebb::base
