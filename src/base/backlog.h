// Output that waits for its reader. Deadlines of a slow reader count from `moved`. New output behind the waiting bytes
// is no progress, nor is output that has not reached the kernel yet.
#pragma once

#include <cstddef>

#include "base/clock.h"

namespace ebb::base {

struct Backlog {
  std::size_t bytes = 0;
  Instant moved{};  // when some of it was last taken or, if nothing had waited, when it began to wait
};

}  // namespace ebb::base
