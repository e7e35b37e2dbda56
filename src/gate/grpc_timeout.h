// How long a caller of gRPC will wait, as it says in `grpc-timeout`.
#pragma once

#include <optional>
#include <string_view>

#include "base/clock.h"

namespace ebb::gate {

// One to eight digits and a unit, as gRPC's protocol over HTTP/2 has it; nothing if the text is anything else. More
// than a day counts as a day.
std::optional<base::Duration> read_grpc_timeout(std::string_view text);

}  // namespace ebb::gate
