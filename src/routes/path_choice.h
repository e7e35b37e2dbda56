// The one decision about a request's path: which spelling counts, which route that is, and which path the endpoint
// gets.
//
// Before: path_form, path_readings. Next: the route's policy.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "routes/snapshot.h"

namespace ebb::routes {

struct PathChoice {
  const Route* route = nullptr;  // null: no route
  std::string_view path;         // the path matched and forwarded, with the query: the request's own, or `text`
  bool ambiguous = false;        // refuse the request
};

// `mode` is the listener's. `text` is storage for another spelling; it changes only if there is one.
PathChoice choose_path(const Snapshot& snapshot, const RequestFacts& request, std::optional<PathMode> mode,
                       std::string& text);

}  // namespace ebb::routes
