// The routing table as workers see it: immutable, complete, compiled for look-ups whose cost does not grow with the
// number of routes. Built by the control plane, shared by all workers, swapped whole; it dies with its last exchange.
//
// Before: wire/h1_head. Next: match.cc, then gate/balance. validate.cc says what a model must be to become one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/labels.h"
#include "routes/model.h"

namespace ebb::routes {

struct Endpoint {
  EndpointModel model;
  base::Label label = 0;       // "backend/name" is unique; the label is of the name alone
  std::uint64_t identity = 0;  // hash of backend name, endpoint name and address: equal over snapshots
};

struct Backend {
  BackendModel model;
  base::Label label = 0;
  std::vector<Endpoint> endpoints;
};

struct Route {
  RouteModel model;
  base::Label label = 0;
  std::uint32_t backend = 0;  // index into Snapshot::backends
  Duration response_timeout{};
};

struct Listener {
  ListenerModel model;
  base::Label label = 0;
};

struct Refusal {
  std::string key;  // "routes[3].backend"
  std::string reason;
  std::string remedy;
};

class Snapshot {
 public:
  // All refusals at once; none: `out` is set.
  static std::vector<Refusal> compile(Model model, std::uint64_t generation, base::Labels& labels,
                                      std::shared_ptr<const Snapshot>& out);

  std::uint64_t generation() const { return generation_; }
  const Model& model() const { return model_; }
  const std::vector<Listener>& listeners() const { return listeners_; }
  const std::vector<Route>& routes() const { return routes_; }
  const std::vector<Backend>& backends() const { return backends_; }

  // `authority` as in the request (any case, with or without port, trailing dot accepted); `path` with or without
  // query. Exact host before wildcard before any; the longest wildcard and the longest path prefix win.
  const Route* match(std::string_view authority, std::string_view path) const;

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  // Prefixes of one host, by their normalised text ("/api", "" for all).
  struct Paths {
    std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> prefixes;
    std::uint32_t longest = 0;
  };
  using HostMap = std::unordered_map<std::string, Paths, TextHash, std::equal_to<>>;

  // Both after validation: every name is known to be unique and every backend to exist.
  void add_backends(base::Labels& labels);
  void add_routes(base::Labels& labels);
  const Route* match_path(const Paths& paths, std::string_view path) const;

  std::uint64_t generation_ = 0;
  Model model_;
  std::vector<Listener> listeners_;
  std::vector<Route> routes_;
  std::vector<Backend> backends_;
  HostMap exact_;     // "shop.example.com"
  HostMap wildcard_;  // "example.com" for "*.example.com"
  std::size_t longest_wildcard_ = 0;
  Paths any_host_;
};

}  // namespace ebb::routes
