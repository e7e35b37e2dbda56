// The canary's settings, as a provider gives them: which routes the canary probes, through which replicas, and how
// often. canary/doors makes legs of it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "routes/route_model.h"

namespace ebb::routes {

// The router itself, among its replicas.
inline constexpr std::string_view canary_self = "self";

// Another router with the same listeners and routes.
struct CanaryReplicaModel {
  std::string name;
  std::string host;  // a name or an address, without port
};

struct CanaryModel {
  std::vector<std::string> backends;                // names: routes to them are the canary's
  std::vector<std::uint32_t> ports = {8080, 8888};  // two, between which their endpoints move
  Duration every = std::chrono::seconds{5};
  Duration budget = std::chrono::seconds{2};  // of one probe
  std::vector<std::string> pods;              // that may answer; "canary-*": all whose names begin so; none: any
  std::vector<CanaryReplicaModel> replicas;   // besides this one
  Duration settle = std::chrono::minutes{2};  // for a change to reach all of them
  std::string ca;                             // path; "": the authorities that this machine trusts
  bool verify = true;                         // certificates of listeners

  bool has(std::string_view backend) const { return std::ranges::find(backends, backend) != backends.end(); }
  bool walks(const RouteModel& route) const { return !route.backend.empty() && has(route.backend); }
};

}  // namespace ebb::routes
