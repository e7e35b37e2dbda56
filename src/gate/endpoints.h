// The endpoints that this worker knows: how busy each is, and its pool of idle connections. An endpoint keeps its
// place over snapshots by its identity; one that left the configuration goes when its last connection has gone.
#pragma once

#include <span>
#include <unordered_map>

#include "base/list.h"
#include "gate/backend_connection.h"
#include "gate/core.h"
#include "lifecycle/idle_budget.h"
#include "lifecycle/idle_limit.h"

namespace ebb::gate {

struct EndpointState {
  std::uint64_t identity = 0;
  base::Address address;
  base::Label label = 0;
  std::uint32_t weight = 1;
  routes::EndpointState wish = routes::EndpointState::ready;
  bool listed = true;                             // in the current snapshot
  std::uint32_t active = 0;                       // exchanges that use it
  std::uint32_t connections = 0;                  // open or opening
  std::uint32_t idle = 0;                         // of them, in the pool
  base::List<BackendConnection, IdleTag> pool{};  // front: used last
  lifecycle::IdleBudget idle_budget{};            // of the pool
  std::vector<base::Handle> multiplexed{};        // connections that speak HTTP/2, or are to
  bool speaks_h2 = false;                         // `auto`: what the last handshake has agreed on
  lifecycle::IdleLimit idle_limit{};              // how long it keeps the connections of the pool
};

class Endpoints {
 public:
  explicit Endpoints(Core& core) : core_(core) {}

  // Makes the views of a new snapshot. Endpoints that it does not list lose their pool at once.
  void enter(LocalSnapshot& snapshot);
  EndpointState* find(base::Handle handle) { return endpoints_.find(handle); }
  // Drops the endpoint if nothing refers to it any more.
  void settle(base::Handle handle);
  std::size_t size() const { return endpoints_.size(); }

 private:
  Core& core_;
  base::SlotMap<EndpointState> endpoints_;
  std::unordered_map<std::uint64_t, base::Handle> by_identity_;
};

}  // namespace ebb::gate
