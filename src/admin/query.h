// The parts of a URL that carry values.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ebb::admin {

// %HH to bytes (RFC 3986 2.1); nothing if an escape is broken. In a query "+" stays a plus.
std::optional<std::string> decode_percent(std::string_view text);

// The first value of that name in "a=1&b=2", decoded; nothing if there is none or it cannot be decoded.
std::optional<std::string> query_value(std::string_view query, std::string_view name);

}  // namespace ebb::admin
