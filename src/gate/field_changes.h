// Changes of header fields, made on the heads themselves, so that every protocol's writer sees them.
#pragma once

#include <string>
#include <string_view>

#include "routes/field_edits.h"
#include "routes/policy.h"
#include "wire/h1_head.h"
#include "wire/h1_write.h"

namespace ebb::gate {

// Fields that are left out are marked as hop-by-hop; those that are added are views into the edits. False: the head has
// no room for one more.
bool change(wire::Fields& fields, const routes::FieldEdits& edits);

// The same for a request, where twins of the names that are left out (wire::reads_as) go too: a program behind CGI
// would take them for what the route has set.
bool change_request(wire::Fields& fields, const routes::FieldEdits& edits);

// The lines of a request's trailers, without those that would be left out of its head: an endpoint may put both
// together.
std::string change_request_trailers(std::string_view lines, const routes::FieldEdits& edits);

// Those of the router's own forwarding fields that the edits decide about.
wire::FieldSet forwarding_in(const routes::FieldEdits& edits);

// All that a route changes about a response, whoever made it. The later ones have the last word.
struct ResponseChanges {
  const routes::FieldEdits* edits = nullptr;  // of the route and of its share
  routes::FieldEdits cors;
  std::string_view hsts;                            // value of Strict-Transport-Security; "": none
  std::string set_cookie;                           // value of our Set-Cookie, beside those of the endpoint; "": none
  const routes::ConfigurationMark* mark = nullptr;  // that a probe is told; null: it was none

  bool empty() const {
    return edits == nullptr && cors.empty() && hsts.empty() && set_cookie.empty() && mark == nullptr;
  }
  bool apply(wire::Fields& fields) const;
  // The lines of the response's trailers, without names that the route decides about.
  std::string trailers(std::string_view lines) const;
};

}  // namespace ebb::gate
