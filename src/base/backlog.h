// Output that waits for its reader. The deadline of a slow reader counts from `moved`. Neither new output behind the
// waiting bytes nor output that the kernel has not taken yet counts as progress.
#pragma once

#include <cstddef>

#include "base/clock.h"

namespace ebb::base {

struct Backlog {
  std::size_t bytes = 0;
  Instant moved{};  // when the reader last took bytes, or when an empty backlog began to fill
};

}  // namespace ebb::base
