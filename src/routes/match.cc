// Finds the route of a request. Look-ups are by hash: one for the exact host, one per label for wildcards, one per path
// segment. Their number depends on the request and the longest prefix, never on the number of routes. Expressions are
// tried in turn, but only those of the request's host.
//
// Precedence is that of the Gateway API's HTTPRoute. Host specificity comes first: exact, then wildcards from the
// longest suffix, then any host. Then the path: exact, expression (whose rank the API leaves open), longest prefix.
// Then conditions, in the order of Conditions::rank, then the order of routes. If no route of a host or path satisfies
// its conditions, the search goes on with the next less specific host or path.
#include "routes/normalise.h"
#include "routes/route_table.h"
#include "routes/snapshot.h"

namespace ebb::routes {

namespace {

// Calls `ask` for each key that may hold the host, until it returns a route.
template <class Ask>
std::uint32_t from_most_specific(std::string_view host, std::size_t longest_wildcard, Ask ask) {
  // A name that begins with a dot is invalid and must not match the key of a wildcard.
  if (!host.empty() && host.front() != '.') {
    if (const std::uint32_t route = ask(host); route != RouteTable::none) return route;
  }
  if (!host.starts_with('[')) {
    // From the second label on: a wildcard needs at least one label, so it never matches the bare domain.
    for (std::size_t dot = host.find('.', 1); dot != std::string_view::npos; dot = host.find('.', dot + 1)) {
      if (host.size() - dot > longest_wildcard) continue;
      if (const std::uint32_t route = ask(host.substr(dot)); route != RouteTable::none) return route;
    }
  }
  return ask({});
}

}  // namespace

std::uint32_t RouteTable::match(const RequestFacts& request) const {
  HostBuffer buffer;
  const std::string_view host = normalise_host(request.authority, buffer);
  const std::string_view path = without_query(request.path);
  return from_most_specific(host, longest_wildcard_, [&](std::string_view key) {
    const std::uint32_t* number = host_numbers_.find(0, key);
    return number == nullptr ? none : match_path(*number, path, request);
  });
}

// The most specific host wins, with passthrough or TLS termination: an exact terminating host beats a passthrough
// wildcard. Of equal hosts passthrough wins, since the other route may be for plain connections. A listener without
// certificates terminates no TLS.
std::uint32_t RouteTable::match_server_name(std::string_view name, std::string_view listener) const {
  constexpr std::uint32_t ends_here = none - 1;
  HostBuffer buffer;
  const std::uint32_t* const number = listener.empty() ? nullptr : listener_numbers_.find(0, listener);
  const std::uint32_t found =
      from_most_specific(normalise_host(name, buffer), longest_wildcard_, [&](std::string_view key) {
        if (const std::uint32_t* route = server_names_.find(0, key)) return *route;
        return !listener.empty() && terminated(key, number) ? ends_here : none;
      });
  return found == ends_here ? none : found;
}

bool RouteTable::terminated(std::string_view host_key, const std::uint32_t* listener) const {
  if (terminated_.find(any_listener, host_key) != nullptr) return true;
  return listener != nullptr && terminated_.find(*listener, host_key) != nullptr;
}

bool RouteTable::all_paths_open(std::string_view authority, std::uint32_t chosen) const {
  constexpr std::uint32_t found = 0;
  HostBuffer buffer;
  bool open = false;
  from_most_specific(normalise_host(authority, buffer), longest_wildcard_, [&](std::string_view key) {
    const std::uint32_t* number = host_numbers_.find(0, key);
    if (number == nullptr) return none;
    const Host& host = hosts_[*number];
    if (host.has_more_guards || (host.guard != none && host.guard != chosen)) return found;
    open = host.serves_all;
    return open ? found : none;
  });
  return open;
}

std::uint32_t RouteTable::match_path(std::uint32_t number, std::string_view path, const RequestFacts& request) const {
  const Host& host = hosts_[number];
  if (path.size() <= host.longest_exact) {
    const std::uint32_t route = look_up(scope_of(number, PathKind::exact), path, request);
    if (route != none) return route;
  }
  if (const std::uint32_t route = first_that_holds(host.regexes, path, request); route != none) return route;

  const auto look_up_prefix = [&](std::string_view prefix) {
    return look_up(scope_of(number, PathKind::prefix), prefix, request);
  };
  // A prefix ends at a segment's end: the end of the path, or before a slash. Longest first.
  if (path.size() <= host.longest_prefix) {
    if (const std::uint32_t route = look_up_prefix(path); route != none) return route;
  }
  if (path.starts_with('/')) {
    for (std::size_t end = path.rfind('/', host.longest_prefix); end != 0 && end != std::string_view::npos;
         end = path.rfind('/', end - 1)) {
      if (const std::uint32_t route = look_up_prefix(path.substr(0, end)); route != none) return route;
    }
  }
  return look_up_prefix({});
}

std::uint32_t RouteTable::look_up(std::uint32_t scope, std::string_view path, const RequestFacts& request) const {
  const Target* target = paths_.find(scope, path);
  if (target == nullptr) return none;
  return target->route != none ? target->route : first_that_holds(target->candidates, path, request);
}

std::uint32_t RouteTable::first_that_holds(Range range, std::string_view path, const RequestFacts& request) const {
  for (std::uint32_t i = range.begin; i != range.end; ++i) {
    const Candidate& candidate = candidates_[i];
    if (candidate.path != nullptr && !candidate.path->matches(path)) continue;
    if (candidate.conditions == nullptr || candidate.conditions->hold(request)) return candidate.route;
  }
  return none;
}

const Route* Snapshot::match(const RequestFacts& request) const {
  const std::uint32_t found = table_.match(request);
  return found == RouteTable::none ? nullptr : &routes_[found];
}

bool Snapshot::all_paths_open(std::string_view authority, const Route& chosen) const {
  return table_.all_paths_open(authority, static_cast<std::uint32_t>(&chosen - routes_.data()));
}

const Route* Snapshot::match_server_name(std::string_view name, std::string_view listener) const {
  const std::uint32_t found = table_.match_server_name(name, listener);
  return found == RouteTable::none ? nullptr : &routes_[found];
}

}  // namespace ebb::routes
