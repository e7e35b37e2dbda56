// The endpoints' state summed over all workers, in the order of the configuration. Pure.
#pragma once

#include <span>
#include <vector>

#include "admin/ask_workers.h"
#include "control/roster.h"
#include "gate/endpoint_facts.h"

namespace ebb::admin {

struct BackendSum {
  gate::BackendFacts facts;
  std::vector<gate::EndpointFacts> endpoints;  // as listed; then those that left but still have work
};

struct EndpointSums {
  std::vector<BackendSum> backends;
  std::size_t workers_silent = 0;  // did not answer in time: the sums lack their work
};

// The lists define the endpoints; a worker that is silent, or does not know an endpoint yet, adds nothing.
std::vector<BackendSum> sum_up(std::span<const control::SharedEndpointList> lists,
                               const Replies<std::vector<gate::EndpointFacts>>& endpoints,
                               const Replies<std::vector<gate::BackendFacts>>& backends);

}  // namespace ebb::admin
