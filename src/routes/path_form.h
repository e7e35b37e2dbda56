// The spelling of paths. Two programs that read one path differently let a client bypass an access rule: the router
// matches one route, the endpoint serves another path. The router therefore normalises a path before matching.
// path_readings.h lists the remaining ambiguities.
//
// Before: wire/h1_head. Next: path_readings, path_choice. The rules are in docs/decisions.
#pragma once

#include <string>
#include <string_view>

#include "routes/policy_model.h"

namespace ebb::routes {

// Whether the path, up to its query, has only one spelling. Nearly all paths do, and cost one look at each byte.
bool has_one_spelling(std::string_view path);

// The normal form (RFC 3986 section 6.2.2): triplets of unreserved characters decoded, hexadecimal digits in capitals,
// dot segments removed. Repeated slashes and the query stay. False if a triplet is malformed or stands for NUL, or if
// there is a backslash: such a path has no normal form.
bool normalise_path(std::string_view path, std::string& out);

// What PathMode::refuse accepts: the normal form, without anything that programs read differently.
bool is_strict(std::string_view path);

// Whether requests in normal form can have this configured path; if not, `wanted` is the right spelling.
bool is_configured_form(std::string_view path, std::string& wanted);

}  // namespace ebb::routes
