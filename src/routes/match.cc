// Which route serves a request. Look-ups are by hash: one for the exact host, one per label for wildcards, one per
// path segment; their number depends on the request and on the longest prefix, never on how many routes there are.
//
// Host specificity comes first, as in the Gateway API: exact, then wildcards from the longest suffix, then any host.
// A host none of whose paths match does not end the search: the next less specific host is asked.
#include "routes/normalise.h"
#include "routes/snapshot.h"

namespace ebb::routes {

const Route* Snapshot::match(std::string_view authority, std::string_view path) const {
  HostBuffer buffer;
  const std::string_view host = normalise_host(authority, buffer);
  path = without_query(path);

  if (const auto found = exact_.find(host); found != exact_.end()) {
    if (const Route* route = match_path(found->second, path)) return route;
  }
  if (!wildcard_.empty() && !host.starts_with('[')) {
    // From the second label on: a wildcard stands for at least one label, so never for the bare domain.
    for (std::size_t dot = host.find('.'); dot != std::string_view::npos; dot = host.find('.', dot + 1)) {
      const std::string_view suffix = host.substr(dot + 1);
      if (dot == 0 || suffix.size() > longest_wildcard_) continue;
      const auto found = wildcard_.find(suffix);
      if (found == wildcard_.end()) continue;
      if (const Route* route = match_path(found->second, path)) return route;
    }
  }
  return match_path(any_host_, path);
}

const Route* Snapshot::match_path(const Paths& paths, std::string_view path) const {
  const auto look_up = [&](std::string_view prefix) -> const Route* {
    const auto found = paths.prefixes.find(prefix);
    return found == paths.prefixes.end() ? nullptr : &routes_[found->second];
  };
  // A prefix ends where a segment ends: at the end of the path or before a slash. The longest is tried first.
  if (path.size() <= paths.longest) {
    if (const Route* route = look_up(path)) return route;
  }
  if (path.starts_with('/')) {
    for (std::size_t end = path.rfind('/', paths.longest); end != 0 && end != std::string_view::npos;
         end = path.rfind('/', end - 1)) {
      if (const Route* route = look_up(path.substr(0, end))) return route;
    }
  }
  return look_up({});
}

}  // namespace ebb::routes
