// The routing table of the workers: immutable, complete, with look-ups whose cost does not grow with the number of
// routes. The control plane builds it, all workers share it and swap it whole; it dies with its last exchange.
//
// Before: wire/h1_head. Next: match.cc, then policy, then gate/balance. validate.cc says which models are valid. The
// snapshot owns one model; everything here refers to it without copies.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/labels.h"
#include "routes/model.h"
#include "routes/policy.h"
#include "routes/request_facts.h"
#include "routes/route_table.h"
#include "routes/shares.h"

namespace ebb::routes {

inline constexpr std::uint32_t no_backend = UINT32_MAX;

struct Endpoint {
  const EndpointModel& model;
  base::Label label = 0;       // "backend/name" is unique; the label is for the name alone
  std::uint64_t identity = 0;  // endpoint_identity()
};

// The same in all snapshots, processes and replicas.
std::uint64_t endpoint_identity(std::string_view backend, std::string_view endpoint, const base::Address& address);

struct Backend {
  const BackendModel& model;
  base::Label label = 0;
  std::vector<Endpoint> endpoints{};
  bool binds = false;  // a cookie, a field or the source of a request selects the endpoint
};

struct Route {
  const RouteModel& model;
  base::Label label = 0;
  std::uint32_t backend = no_backend;  // index into Snapshot::backends; of a split route the first; none for a redirect
  Duration response_timeout{};
  bool guards = false;                               // the route restricts access, so no path may bypass it
  std::unique_ptr<const std::vector<Share>> shares;  // of a split route
  std::unique_ptr<const Policy> policy;              // null: only forwarding
};

// True for a route with a rule about who may send requests, how often, how large, or what the endpoint learns; and for
// redirects, which let no request through. A mode for paths of its own shows that they matter.
bool guards(const RouteModel& route);

struct Listener {
  const ListenerModel& model;
  base::Label label = 0;
  std::uint32_t backend = no_backend;  // of tcp and udp
};

struct Refusal {
  std::string key;  // "routes[3].backend"
  std::string reason;
  std::string remedy;
  std::string unknown_backend;  // the unknown name; a provider may suggest the right one
};

class Snapshot {
 public:
  // Returns all errors; if there are none, `out` is set.
  static std::vector<Refusal> compile(Model model, std::uint64_t generation, base::Labels& labels,
                                      std::shared_ptr<const Snapshot>& out);
  Snapshot(Model model, std::uint64_t generation, base::Labels& labels);
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  std::uint64_t generation() const { return generation_; }
  const Model& model() const { return model_; }
  const std::vector<Listener>& listeners() const { return listeners_; }
  const std::vector<Route>& routes() const { return routes_; }
  const std::vector<Backend>& backends() const { return backends_; }
  const AddressSet& trusted_proxies() const { return trusted_proxies_; }

  // The route of a request, or nullptr; match.cc explains the rules.
  const Route* match(const RequestFacts& request) const;
  // Whether no spelling of any path bypasses a route of that host or leads to no route; `chosen` is a route of the
  // host.
  bool all_paths_open(std::string_view authority, const Route& chosen) const;
  // The backend's index; no_backend if the name is unknown.
  std::uint32_t find_backend(std::string_view name) const {
    const auto found = backend_by_name_.find(name);
    return found == backend_by_name_.end() ? no_backend : found->second;
  }
  // The passthrough route for the server name of a ClientHello, or nullptr. `listener`: the name of a TLS-terminating
  // listener, whose other routes may have a more specific host; "" for other listeners.
  const Route* match_server_name(std::string_view name, std::string_view listener) const;
  bool passes_tls_through() const { return table_.has_server_names(); }  // any route uses passthrough

 private:
  // In this order, after validation: names are unique and all backends exist.
  void add_backends(base::Labels& labels);
  void add_listeners(base::Labels& labels);
  void add_routes(base::Labels& labels);
  void add_shares(Route& route) const;
  // To the canary: which configuration serves the route.
  bool tells_mark(const RouteModel& route) const;
  std::uint32_t backend_index(std::string_view name) const { return backend_by_name_.at(name); }

  std::uint64_t generation_ = 0;
  Model model_;
  ConfigurationMark mark_;
  std::vector<Listener> listeners_;
  std::vector<Route> routes_;
  std::vector<Backend> backends_;
  std::unordered_map<std::string_view, std::uint32_t> backend_by_name_;
  AddressSet trusted_proxies_;
  RouteTable table_;
};

}  // namespace ebb::routes
