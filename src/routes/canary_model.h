// The canary's settings, as a provider gives them: which routes the canary probes, through which replicas, and how
// often. canary/doors turns them into legs.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "routes/route_model.h"

namespace ebb::routes {

// The name of this router among its replicas.
inline constexpr std::string_view canary_self = "self";

// Another router with the same listeners and routes.
struct CanaryReplicaModel {
  std::string name;
  std::string host;  // a name or an address, without port
};

struct CanaryModel {
  std::vector<std::string> backends;                // names; the canary probes the routes to them
  std::vector<std::uint32_t> ports = {8080, 8888};  // two ports, between which the canary's endpoints move
  Duration every = std::chrono::seconds{5};
  Duration budget = std::chrono::seconds{2};  // of one probe
  std::vector<std::string> pods;              // that may answer; "canary-*": a prefix of names; empty: any
  std::vector<CanaryReplicaModel> replicas;   // besides this one
  Duration settle = std::chrono::minutes{2};  // time for a change to reach all replicas
  std::string ca;                             // path; "": the system's certificate authorities
  bool verify = true;                         // verify the listeners' certificates

  bool has(std::string_view backend) const { return std::ranges::find(backends, backend) != backends.end(); }
  bool walks(const RouteModel& route) const { return !route.backend.empty() && has(route.backend); }
};

}  // namespace ebb::routes
