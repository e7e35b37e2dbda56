// What a request says about the intermediaries that it has passed or may still pass: Via and Max-Forwards.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "wire/h1_head.h"

namespace ebb::gate {

// Whether a line of Via says that a router of this name has had the request (RFC 9110 section 7.6.3).
bool has_passed(const wire::Fields& fields, std::string_view name);

struct ForwardsLeft {
  bool valid = true;                   // false: repeated, or no number
  std::optional<std::uint64_t> count;  // nothing: no limit
};

// Max-Forwards, which counts for OPTIONS and TRACE only (RFC 9110 section 7.6.2).
ForwardsLeft forwards_left(const wire::RequestHead& head);

}  // namespace ebb::gate
