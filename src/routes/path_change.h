// Redirects and rewrites: the text that goes to the client in Location, or to the backend as its path.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "routes/policy_model.h"

namespace ebb::routes {

// What follows the prefix of a route, with the query: empty, or from a slash on. The path begins with the prefix.
std::string_view behind_prefix(std::string_view matched, std::string_view path);

// The path with the query of `path`, changed. `matched` is the prefix of the route; the result begins with one slash
// and has none doubled where the prefix met the rest.
std::string changed_path(const PathChangeModel& change, std::string_view matched, std::string_view path);

// Where a request came in.
struct RequestPlace {
  std::string_view scheme;
  std::string_view authority;
  std::string_view path;   // with query
  std::uint16_t port = 0;  // of the listener
};

// The value of Location, by the rules of the Gateway API: a given scheme brings its well-known port, without one the
// listener's port is kept, and a port that the scheme implies is not written.
std::string location(const RedirectModel& redirect, std::string_view matched, const RequestPlace& place);

}  // namespace ebb::routes
