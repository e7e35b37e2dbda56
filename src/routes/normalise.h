// A single spelling of hosts, paths and names. route_table.cc uses it for keys and match.cc for requests, so that the
// two agree.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace ebb::routes {

// A DNS name has at most 253 characters (RFC 1035 section 2.3.4); the rest leaves room for a trailing dot.
using HostBuffer = std::array<char, 256>;

// The host of an authority: lower case, without port and one trailing dot. An IPv6 literal gets its canonical text (RFC
// 5952) in brackets. Empty if the host is missing or too long.
std::string_view normalise_host(std::string_view authority, HostBuffer& buffer);

// The path of a request target, without its query. Octets are compared unchanged: path_form.h has already normalised
// them.
std::string_view without_query(std::string_view target);

// The text after the first "?".
std::string_view query_of(std::string_view target);

// "/api/" and "/api" are the same prefix, "/api"; "/" becomes "".
std::string_view normalise_prefix(std::string_view path);

// ASCII letters only: names of header fields have no others.
std::string lower_case(std::string_view text);
bool equal_in_any_case(std::string_view a, std::string_view b);

}  // namespace ebb::routes
