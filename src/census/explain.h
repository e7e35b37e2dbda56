// One socket in prose: why it is open, what will end it, and when.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "census/census.h"

namespace ebb::census {

std::string explain(const Census& census, std::uint32_t index, const Policy& policy);

// The sockets that a text names: a cookie ("cookie:4711"), a process and descriptor ("1234/7"), or an end
// ("10.1.0.5:8080", either). The error: it is none of these.
std::expected<std::vector<std::uint32_t>, std::string> find_sockets(const Census& census, std::string_view text);

}  // namespace ebb::census
