// Invariants of our own code, checked in production too: a process whose invariant broke must not serve.
#pragma once

namespace ebb::base {

[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);

}  // namespace ebb::base

#define EBB_ASSERT(expression) \
  (__builtin_expect(!!(expression), 1) ? (void)0 : ::ebb::base::assertion_failed(#expression, __FILE__, __LINE__))
