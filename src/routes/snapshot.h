// The routing table as workers see it: immutable, complete, compiled for look-ups whose cost does not grow with the
// number of routes. Built by the control plane, shared by all workers, swapped whole; it dies with its last exchange.
//
// Before: wire/h1_head. Next: match.cc, then policy, then gate/balance. validate.cc says what a model must be to
// become one. Everything here refers to the one model that the snapshot owns; nothing of it is copied.
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
  base::Label label = 0;       // "backend/name" is unique; the label is of the name alone
  std::uint64_t identity = 0;  // endpoint_identity()
};

// Equal over snapshots, processes and replicas.
std::uint64_t endpoint_identity(std::string_view backend, std::string_view endpoint, const base::Address& address);

struct Backend {
  const BackendModel& model;
  base::Label label = 0;
  std::vector<Endpoint> endpoints{};
  bool binds = false;  // requests say by a cookie, a field or their source which endpoint they want
};

struct Route {
  const RouteModel& model;
  base::Label label = 0;
  std::uint32_t backend = no_backend;  // index into Snapshot::backends; of a split route its first; none of a redirect
  Duration response_timeout{};
  bool guards = false;  // it keeps something from its endpoint, so that nobody may get around it
  std::unique_ptr<const std::vector<Share>> shares;  // of a split route
  std::unique_ptr<const Policy> policy;              // null: nothing but sending
};

// It has a rule about who may come, how often, with how much, or what the endpoint is told; a redirect keeps everybody
// out. An own mode for paths says that they matter.
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
  std::string unknown_backend;  // the name that no backend has; a provider may know which was meant
};

class Snapshot {
 public:
  // All refusals at once; none: `out` is set.
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

  // The route of a request, or nullptr; match.cc has the rules.
  const Route* match(const RequestFacts& request) const;
  // Whether no spelling of any path leads around a route of that host, nor to where none serves it; `chosen` is a route
  // of the host.
  bool all_paths_open(std::string_view authority, const Route& chosen) const;
  // Its index; no_backend if there is none of that name.
  std::uint32_t find_backend(std::string_view name) const {
    const auto found = backend_by_name_.find(name);
    return found == backend_by_name_.end() ? no_backend : found->second;
  }
  // The passthrough route for the name that a client asks for in its ClientHello, or nullptr. `listener`: the name of
  // one that terminates TLS, whose other routes may have a host that is more specific; "" of one that does not.
  const Route* match_server_name(std::string_view name, std::string_view listener) const;
  bool passes_tls_through() const { return table_.has_server_names(); }  // some route does

 private:
  // In this order, after validation: every name is known to be unique and every backend to exist.
  void add_backends(base::Labels& labels);
  void add_listeners(base::Labels& labels);
  void add_routes(base::Labels& labels);
  void add_shares(Route& route) const;
  // To the canary: which configuration serves it.
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
