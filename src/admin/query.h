// The parts of a URL that carry values.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ebb::admin {

// Decodes %HH (RFC 3986 2.1); empty result if an escape is broken. "+" in a query stays a plus.
std::optional<std::string> decode_percent(std::string_view text);

// The first value of that name in "a=1&b=2", decoded; empty result if missing or broken.
std::optional<std::string> query_value(std::string_view query, std::string_view name);

}  // namespace ebb::admin
