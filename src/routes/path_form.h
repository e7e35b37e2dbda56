// The spelling of paths. Two programs that read one path differently are how an access rule is walked around: the
// router takes it for one route, the endpoint serves another. So a path that has several spellings gets one before it
// is matched; path_readings.h has the ways in which it still can be read.
//
// Before: wire/h1_head. Next: path_readings, path_choice. The rules are in docs/decisions.
#pragma once

#include <string>
#include <string_view>

#include "routes/policy_model.h"

namespace ebb::routes {

// Whether the path, up to its query, has one spelling only. Nearly all do, and cost one look at each byte.
bool has_one_spelling(std::string_view path);

// The normal form (RFC 3986 section 6.2.2): triplets of unreserved characters decoded, hexadecimal digits in capitals,
// dot segments removed. Several slashes stay. False: it has none, because a triplet is malformed or stands for NUL, or
// because there is a backslash. The query stays as it is.
bool normalise_path(std::string_view path, std::string& out);

// What PathMode::refuse takes: the normal form, without anything that some programs read differently.
bool is_strict(std::string_view path);

// Whether a configured path is one that requests can have once they are in normal form; else `wanted` is how to write
// it.
bool is_configured_form(std::string_view path, std::string& wanted);

}  // namespace ebb::routes
