#include "admin/endpoint_sums.h"

#include <algorithm>
#include <unordered_map>

namespace ebb::admin {
namespace {

using gate::EndpointFacts;
using lifecycle::Health;

// The report shows the worst health that any worker sees.
int badness(Health health) {
  switch (health) {
    case Health::up: return 0;
    case Health::warming: return 1;
    case Health::suspect: return 2;
    case Health::down: return 3;
  }
  return 0;
}

EndpointFacts facts_of(const gate::ListedEndpoint& endpoint, const std::string& backend) {
  EndpointFacts facts;
  facts.backend = backend;
  facts.name = endpoint.name;
  facts.identity = endpoint.identity;
  facts.address = endpoint.address;
  facts.weight = endpoint.weight;
  facts.work_max = endpoint.limit == nullptr ? 0 : endpoint.limit->most();
  facts.membership = endpoint.membership;
  facts.wish = endpoint.wish;
  return facts;
}

void add(EndpointFacts& sum, const EndpointFacts& more) {
  if (badness(more.health) > badness(sum.health)) {
    sum.health = more.health;
    sum.why = more.why;
  }
  sum.doubt = std::max(sum.doubt, more.doubt);
  sum.since = std::max(sum.since, more.since);
  sum.in_flight.add(more.in_flight);
  sum.connections += more.connections;
  sum.idle += more.idle;
  sum.tally.add(more.tally);
  if (more.check) sum.check = more.check;
}

}  // namespace

std::vector<BackendSum> sum_up(std::span<const control::SharedEndpointList> lists,
                               const Replies<std::vector<EndpointFacts>>& endpoints,
                               const Replies<std::vector<gate::BackendFacts>>& backends) {
  struct Place {
    std::size_t backend;
    std::size_t endpoint;
  };
  std::vector<BackendSum> sums;
  std::unordered_map<std::string_view, std::size_t> by_name;
  std::unordered_map<std::uint64_t, Place> by_identity;
  for (const control::SharedEndpointList& list : lists) {
    BackendSum& sum = sums.emplace_back();
    sum.facts.name = list->backend;
    for (const gate::ListedEndpoint& endpoint : list->endpoints) {
      by_identity.emplace(endpoint.identity, Place{sums.size() - 1, sum.endpoints.size()});
      sum.endpoints.push_back(facts_of(endpoint, list->backend));
    }
    by_name.emplace(list->backend, sums.size() - 1);
  }
  for (const auto& reply : endpoints) {
    if (!reply) continue;
    for (const EndpointFacts& facts : *reply) {
      auto known = by_identity.find(facts.identity);
      if (known == by_identity.end()) {
        const auto backend = by_name.find(facts.backend);
        if (backend == by_name.end()) continue;
        std::vector<EndpointFacts>& all = sums[backend->second].endpoints;
        known = by_identity.emplace(facts.identity, Place{backend->second, all.size()}).first;
        all.push_back(facts);
        continue;
      }
      add(sums[known->second.backend].endpoints[known->second.endpoint], facts);
    }
  }
  for (const auto& reply : backends) {
    if (!reply) continue;
    for (const gate::BackendFacts& facts : *reply) {
      const auto backend = by_name.find(facts.name);
      if (backend == by_name.end()) continue;
      gate::BackendFacts& sum = sums[backend->second].facts;
      sum.queued += facts.queued;
      sum.queued_ever += facts.queued_ever;
      sum.queue_timeouts += facts.queue_timeouts;
    }
  }
  return sums;
}

}  // namespace ebb::admin
