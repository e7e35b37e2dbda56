// Errors are values: the cause, the side at fault, and whether a retry is safe.
#pragma once

#include <expected>
#include <type_traits>

#include "base/cause.h"

namespace ebb::base {

// `never`: the peer may have acted on it. `elsewhere`: provably not processed, another endpoint may take it.
enum class Retry : std::uint8_t { never, elsewhere };

struct Error {
  Cause cause = Cause::internal;
  Retry retry = Retry::never;
  int sys = 0;             // errno, or 0
  const char* where = "";  // a literal: the operation that failed

  constexpr Side fault() const { return facts(cause).fault; }
};
static_assert(std::is_trivially_copyable_v<Error>);

template <class T = void>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(Cause cause, const char* where, int sys = 0, Retry retry = Retry::never) {
  return std::unexpected(Error{cause, retry, sys, where});
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
