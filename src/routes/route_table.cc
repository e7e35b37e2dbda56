#include "routes/route_table.h"

#include <algorithm>
#include <tuple>

#include "routes/normalise.h"

namespace ebb::routes {

struct RouteTable::Draft {
  PathKey key;
  Conditions::Rank rank;
  std::uint32_t route;

  auto place() const { return std::tie(key.host, key.kind, key.path); }
};

void RouteTable::build(std::span<const RouteModel> routes) {
  std::vector<Draft> drafts;
  drafts.reserve(routes.size());
  for (std::uint32_t i = 0; i < routes.size(); ++i) {
    if (routes[i].tls == TlsMode::passthrough) {
      server_names_.emplace(host_key(routes[i]), i);
    } else {
      drafts.push_back(draft_of(routes[i], i));
    }
  }
  std::ranges::sort(drafts, [](const Draft& a, const Draft& b) {
    if (a.place() != b.place()) return a.place() < b.place();
    if (a.rank != b.rank) return a.rank > b.rank;
    return a.route < b.route;
  });
  add_candidates(routes, drafts);
}

std::string RouteTable::host_key(const RouteModel& route) {
  if (route.host.empty() || route.host == "*") return {};
  HostBuffer buffer;
  if (!route.host.starts_with("*.")) return std::string(normalise_host(route.host, buffer));
  std::string suffix = "." + std::string(normalise_host(std::string_view(route.host).substr(2), buffer));
  longest_wildcard_ = std::max(longest_wildcard_, suffix.size());
  return suffix;
}

RouteTable::Draft RouteTable::draft_of(const RouteModel& route, std::uint32_t index) {
  const auto next_number = static_cast<std::uint32_t>(hosts_.size());
  Host& host = hosts_.emplace(host_key(route), Host{next_number}).first->second;
  std::string_view path;
  if (route.path.kind == PathKind::exact) {
    path = route.path.text;
    host.longest_exact = std::max(host.longest_exact, static_cast<std::uint32_t>(path.size()));
  } else if (route.path.kind == PathKind::prefix) {
    path = normalise_prefix(route.path.text);
    host.longest_prefix = std::max(host.longest_prefix, static_cast<std::uint32_t>(path.size()));
  }
  const Conditions::Rank rank = route.conditions ? Conditions::rank(*route.conditions) : Conditions::Rank{};
  return {{host.number, route.path.kind, path}, rank, index};
}

void RouteTable::add_candidates(std::span<const RouteModel> routes, std::span<const Draft> drafts) {
  std::vector<Host*> hosts(hosts_.size());
  for (auto& [key, host] : hosts_) hosts[host.number] = &host;
  paths_.reserve(drafts.size());
  candidates_.reserve(drafts.size());
  for (const Draft& draft : drafts) {
    const RouteModel& route = routes[draft.route];
    const bool by_regex = draft.key.kind == PathKind::regex;
    const Conditions* conditions = route.conditions ? &conditions_.emplace_back(*route.conditions, regexes_) : nullptr;
    const auto index = static_cast<std::uint32_t>(candidates_.size());
    candidates_.push_back({draft.route, conditions, by_regex ? regexes_.get(route.path.text) : nullptr});
    Range& range = by_regex ? hosts[draft.key.host]->regexes : paths_[draft.key];
    if (range.begin == range.end) range.begin = index;
    range.end = index + 1;
  }
}

}  // namespace ebb::routes
