#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace ebb::base {

void assertion_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "ebbgate: invariant broken: %s (%s:%d)\n", expression, file, line);
  std::abort();
}

}  // namespace ebb::base
