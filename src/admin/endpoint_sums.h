// What all workers know of the endpoints, added up, in the order of the configuration. Pure.
#pragma once

#include <span>
#include <vector>

#include "admin/ask_workers.h"
#include "control/roster.h"
#include "gate/endpoint_facts.h"

namespace ebb::admin {

struct BackendSum {
  gate::BackendFacts facts;
  std::vector<gate::EndpointFacts> endpoints;  // as listed; behind them those that left but have work
};

struct EndpointSums {
  std::vector<BackendSum> backends;
  std::size_t workers_silent = 0;  // did not answer in time: their work is not in the sums
};

// The lists say what there is; a worker that is silent, or has not heard of an endpoint yet, adds nothing to it.
std::vector<BackendSum> sum_up(std::span<const control::SharedEndpointList> lists,
                               const Replies<std::vector<gate::EndpointFacts>>& endpoints,
                               const Replies<std::vector<gate::BackendFacts>>& backends);

}  // namespace ebb::admin
