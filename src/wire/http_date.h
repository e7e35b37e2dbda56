// RFC 9110 5.6.7: "Sun, 06 Nov 1994 08:49:37 GMT". An origin server with a clock sends it (6.6.1).
#pragma once

#include <string>

#include "base/clock.h"

namespace ebb::wire {

std::string http_date(base::WallTime at);

}  // namespace ebb::wire
