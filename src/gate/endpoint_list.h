// The endpoints of one backend as the control plane wants them now: what the provider lists, changed by what was asked
// for at run time. Immutable but for its limits; shared by all workers. Made by control/roster.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/labels.h"
#include "gate/shared_limit.h"
#include "lifecycle/endpoint.h"
#include "routes/snapshot.h"

namespace ebb::gate {

struct ListedEndpoint {
  std::uint64_t identity = 0;  // routes::endpoint_identity: equal over snapshots, processes and replicas
  std::string name;
  base::Label label = 0;
  base::Address address;
  std::uint32_t weight = 1;
  lifecycle::Membership membership = lifecycle::Membership::present;
  lifecycle::Wish wish = lifecycle::Wish::ready;
  std::shared_ptr<SharedLimit> limit{};  // of work on all workers; null: none
};

struct EndpointList {
  std::string backend;
  std::vector<ListedEndpoint> endpoints;
};

// As the provider lists them.
EndpointList endpoint_list(const routes::Backend& backend);

}  // namespace ebb::gate
