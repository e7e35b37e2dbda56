#include "routes/route_table.h"

#include <algorithm>
#include <tuple>

#include "routes/normalise.h"
#include "routes/snapshot.h"

namespace ebb::routes {

void RouteTable::build(std::span<const RouteModel> routes) {
  std::vector<Draft> drafts;
  drafts.reserve(routes.size());
  for (std::uint32_t i = 0; i < routes.size(); ++i) {
    if (routes[i].tls == TlsMode::passthrough) {
      server_names_.add(0, host_key(routes[i]), i);
    } else {
      drafts.push_back(draft_of(routes[i], i));
    }
  }
  if (has_server_names()) {
    for (const Draft& draft : drafts) add_terminated(routes[draft.route]);
  }
  const auto key = [](const Draft& draft) { return std::tie(draft.host, draft.kind, draft.path); };
  std::ranges::sort(drafts, [key](const Draft& a, const Draft& b) {
    if (key(a) != key(b)) return key(a) < key(b);
    if (a.rank != b.rank) return a.rank > b.rank;
    return a.route < b.route;
  });
  paths_.reserve(drafts.size());
  for (auto begin = drafts.begin(); begin != drafts.end();) {
    const auto end = std::find_if(begin, drafts.end(), [&](const Draft& draft) { return key(draft) != key(*begin); });
    add_path(routes, {begin, end});
    begin = end;
  }
}

std::string RouteTable::host_key(const RouteModel& route) {
  if (route.host.empty() || route.host == "*") return {};
  HostBuffer buffer;
  if (!route.host.starts_with("*.")) return std::string(normalise_host(route.host, buffer));
  std::string suffix = "." + std::string(normalise_host(std::string_view(route.host).substr(2), buffer));
  longest_wildcard_ = std::max(longest_wildcard_, suffix.size());
  return suffix;
}

void RouteTable::add_terminated(const RouteModel& route) {
  const std::string host = host_key(route);
  if (!route.conditions || route.conditions->listeners.empty()) {
    terminated_.add(any_listener, host, true);
    return;
  }
  for (const std::string& listener : route.conditions->listeners) {
    const auto [number, fresh] = listener_numbers_.add(0, listener, listener_count_ + 1);
    if (fresh) listener_count_ += 1;
    terminated_.add(number, host, true);
  }
}

RouteTable::Draft RouteTable::draft_of(const RouteModel& route, std::uint32_t index) {
  const auto [number, fresh] = host_numbers_.add(0, host_key(route), static_cast<std::uint32_t>(hosts_.size()));
  if (fresh) hosts_.emplace_back();
  Host& host = hosts_[number];
  std::string_view path;
  if (route.path.kind == PathKind::exact) {
    path = route.path.text;
    host.longest_exact = std::max(host.longest_exact, static_cast<std::uint32_t>(path.size()));
  } else if (route.path.kind == PathKind::prefix) {
    path = normalise_prefix(route.path.text);
    host.longest_prefix = std::max(host.longest_prefix, static_cast<std::uint32_t>(path.size()));
  }
  if (guards(route)) {
    host.has_more_guards = host.guard != none;
    host.guard = index;
  }
  if (route.path.kind == PathKind::prefix && path.empty() && !route.conditions) host.serves_all = true;
  const Conditions::Rank rank = route.conditions ? Conditions::rank(*route.conditions) : Conditions::Rank{};
  return {number, route.path.kind, path, rank, index};
}

// Adds all drafts of one path, or all expressions of one host.
void RouteTable::add_path(std::span<const RouteModel> routes, std::span<const Draft> drafts) {
  const Draft& first = drafts.front();
  const bool by_regex = first.kind == PathKind::regex;
  if (!by_regex && drafts.size() == 1 && !routes[first.route].conditions) {
    paths_.add(scope_of(first.host, first.kind), first.path, {first.route, {}});
    return;
  }
  const auto begin = static_cast<std::uint32_t>(candidates_.size());
  for (const Draft& draft : drafts) {
    const RouteModel& route = routes[draft.route];
    const Conditions* conditions = route.conditions ? &conditions_.emplace_back(*route.conditions, regexes_) : nullptr;
    candidates_.push_back({draft.route, conditions, by_regex ? regexes_.get(route.path.text) : nullptr});
  }
  const Range range{begin, static_cast<std::uint32_t>(candidates_.size())};
  if (by_regex) {
    hosts_[first.host].regexes = range;
  } else {
    paths_.add(scope_of(first.host, first.kind), first.path, {none, range});
  }
}

}  // namespace ebb::routes
