// The canary's fields that the router itself handles. A probe carries a nonce; its answer names the router's
// configuration.
#pragma once

#include <string_view>

namespace ebb::wire {

// Field names are case-insensitive; HTTP/2 requires lower case.
struct FieldName {
  std::string_view written;
  std::string_view lower;
};

inline constexpr FieldName canary_nonce_field{"Ebbgate-Canary", "ebbgate-canary"};        // in requests and answers
inline constexpr FieldName generation_field{"Ebbgate-Generation", "ebbgate-generation"};  // the router's, decimal
inline constexpr FieldName configuration_field{"Ebbgate-Configuration", "ebbgate-configuration"};  // its digest

}  // namespace ebb::wire
