// Normalises host names of certificates and ClientHellos, so that they can be compared.
#pragma once

#include <string>
#include <string_view>

namespace ebb::wire {

// Lower case without a trailing dot; "" if the text is neither a host name nor a wildcard of one whole label.
std::string normal_name(std::string_view text);

}  // namespace ebb::wire
