// What the router itself has to know of the canary's fields: a probe has a nonce, and is told which configuration the
// router runs.
#pragma once

#include <string_view>

namespace ebb::wire {

// Names of fields are compared without regard to case; HTTP/2 wants them in lower case.
struct FieldName {
  std::string_view written;
  std::string_view lower;
};

inline constexpr FieldName canary_nonce_field{"Ebbgate-Canary", "ebbgate-canary"};        // both ways
inline constexpr FieldName generation_field{"Ebbgate-Generation", "ebbgate-generation"};  // by the router, decimal
inline constexpr FieldName configuration_field{"Ebbgate-Configuration", "ebbgate-configuration"};  // by it, the digest

}  // namespace ebb::wire
