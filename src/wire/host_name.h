// Host names as certificates and ClientHellos carry them, brought into one form so that they can be compared.
#pragma once

#include <string>
#include <string_view>

namespace ebb::wire {

// Lower case without a trailing dot; "" if it cannot be a host name or a wildcard of exactly one whole label.
std::string normal_name(std::string_view text);

}  // namespace ebb::wire
