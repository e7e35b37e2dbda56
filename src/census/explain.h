// Explains one socket: why it is open, what will end it, and when.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "census/census.h"

namespace ebb::census {

std::string explain(const Census& census, std::uint32_t index, const Policy& policy);

// The sockets that match a text: a cookie ("cookie:4711"), a process and descriptor ("1234/7"), or an address
// ("10.1.0.5:8080", of either end). The error: the text is none of these.
std::expected<std::vector<std::uint32_t>, std::string> find_sockets(const Census& census, std::string_view text);

}  // namespace ebb::census
