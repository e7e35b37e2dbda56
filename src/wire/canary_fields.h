// The canary's fields that the router itself handles: a probe has a nonce, and its answer gets the configuration that
// the router runs.
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
