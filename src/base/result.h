// Errors are values: what happened and whose fault it was.
#pragma once

#include <expected>
#include <type_traits>

#include "base/cause.h"

namespace ebb::base {

struct Error {
  Cause cause = Cause::internal;
  int sys = 0;             // errno, or 0
  const char* where = "";  // a literal: the operation that failed

  constexpr Side fault() const { return facts(cause).fault; }
};
static_assert(std::is_trivially_copyable_v<Error>);

template <class T = void>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(Cause cause, const char* where, int sys = 0) {
  return std::unexpected(Error{cause, sys, where});
}

}  // namespace ebb::base

// libstdc++ 12 has no std::expected::and_then, hence a macro: `auto x = EBB_TRY(f());` (a GNU statement
// expression, which clang and g++ both accept).
#define EBB_TRY(expression)                                              \
  __extension__({                                                        \
    auto ebb_try_result = (expression);                                  \
    if (!ebb_try_result) return std::unexpected(ebb_try_result.error()); \
    std::move(*ebb_try_result);                                          \
  })
