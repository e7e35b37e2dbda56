// Redirects and rewrites: the value of Location, or the path for the backend.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "routes/policy_model.h"

namespace ebb::routes {

// What follows the route's prefix, with the query: empty, or beginning with a slash. `path` begins with the prefix.
std::string_view behind_prefix(std::string_view matched, std::string_view path);

// The changed path, with the query of `path`. `matched` is the route's prefix; the result begins with one slash and has
// no double slash where prefix and rest meet.
std::string changed_path(const PathChangeModel& change, std::string_view matched, std::string_view path);

// The origin and path of a request.
struct RequestPlace {
  std::string_view scheme;
  std::string_view authority;
  std::string_view path;   // with query
  std::uint16_t port = 0;  // of the listener
};

// The value of Location, by the Gateway API's rules. A given scheme implies its well-known port; without a scheme the
// listener's port stays. A port that the scheme implies is omitted.
std::string location(const RedirectModel& redirect, std::string_view matched, const RequestPlace& place);

}  // namespace ebb::routes
