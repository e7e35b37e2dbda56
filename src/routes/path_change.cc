#include "routes/path_change.h"

#include <algorithm>

#include "routes/normalise.h"

namespace ebb::routes {

namespace {

std::uint32_t well_known_port(std::string_view scheme) { return scheme == "https" ? 443 : 80; }

std::string_view with_one_slash(std::string_view path) {
  while (path.starts_with("//")) path.remove_prefix(1);
  return path;
}

// "[::1]:80" becomes "[::1]".
std::string_view without_port(std::string_view authority) {
  const std::size_t bracket = authority.find(']');
  const std::size_t from = bracket == std::string_view::npos ? 0 : bracket;
  return authority.substr(0, authority.find(':', from));
}

}  // namespace

std::string_view behind_prefix(std::string_view matched, std::string_view path) {
  return path.substr(std::min(normalise_prefix(matched).size(), path.size()));
}

std::string changed_path(const PathChangeModel& change, std::string_view matched, std::string_view path) {
  // "*" of OPTIONS is not a path; leave it unchanged.
  if (!path.starts_with('/')) return std::string(path);
  const std::string_view before_query = without_query(path);
  const std::string_view query = path.substr(before_query.size());
  std::string changed(before_query);
  if (change.path) {
    changed = *change.path;
  } else if (change.prefix) {
    const std::string_view rest = with_one_slash(behind_prefix(matched, before_query));
    changed = std::string(normalise_prefix(*change.prefix)) + std::string(rest);
  }
  if (changed.empty()) changed = "/";
  return changed.append(query);
}

std::string location(const RedirectModel& redirect, std::string_view matched, const RequestPlace& place) {
  const std::string path = changed_path(redirect.change, matched, place.path);
  const std::string_view host = redirect.host.empty() ? without_port(place.authority) : redirect.host;
  // An HTTP/1.0 request without Host gets a relative reference. A path with two leading slashes would be read as a
  // host.
  if (host.empty()) return std::string(with_one_slash(path));
  const std::string_view scheme = redirect.scheme.empty() ? place.scheme : redirect.scheme;
  std::uint32_t port = redirect.port;
  if (port == 0) port = redirect.scheme.empty() ? place.port : well_known_port(scheme);

  std::string text(scheme);
  text.append("://").append(host);
  if (port != well_known_port(scheme)) text.append(":").append(std::to_string(port));
  return text.append(path);
}

}  // namespace ebb::routes
