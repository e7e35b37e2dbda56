// The one decision about a request's path: which spelling counts, which route that is, and what the endpoint gets.
//
// Before: path_form, path_readings. Next: the route's policy.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "routes/snapshot.h"

namespace ebb::routes {

struct PathChoice {
  const Route* route = nullptr;  // null: none serves it
  std::string_view path;         // what was matched and goes on, with the query: the request's own, or `text`
  bool ambiguous = false;        // to be refused
};

// `mode` is the listener's. `text` has room for another spelling; it is touched only if there is one.
PathChoice choose_path(const Snapshot& snapshot, const RequestFacts& request, std::optional<PathMode> mode,
                       std::string& text);

}  // namespace ebb::routes
