// The cookie that binds a client to an endpoint, on the heads of requests and responses.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "routes/balance_model.h"
#include "wire/cookie.h"
#include "wire/h1_head.h"
#include "wire/opaque_token.h"

namespace ebb::gate {

// Equal in every process that knows the endpoint (routes::endpoint_identity).
wire::OpaqueToken sticky_token(std::uint64_t endpoint_identity);

inline bool is_cookie_field(const wire::Field& field) {
  return !field.hop && wire::equals_ignoring_case(field.name, "cookie");
}

// Calls `visit` with the values of the request's cookies of this name until it returns true. A browser may hold
// several: of other paths, or of a time when something else had the name.
template <class Visit>
bool any_cookie(const wire::Fields& fields, std::string_view name, Visit&& visit) {
  for (const wire::Field& field : fields.all()) {
    if (!is_cookie_field(field)) continue;
    std::string_view rest = field.value;
    wire::CookiePair pair;
    while (wire::take_cookie(rest, pair)) {
      if (pair.name == name && visit(pair.value)) return true;
    }
  }
  return false;
}

// Takes the cookies of these names out of a request; a field with nothing left is left out. `text` holds what the
// fields then refer to, and must outlive them.
void hide_cookies(wire::Fields& fields, std::span<const std::string_view> names, std::string& text);

// The value of Set-Cookie.
std::string set_cookie(const routes::StickyModel& sticky, const wire::OpaqueToken& token, bool over_tls);

}  // namespace ebb::gate
