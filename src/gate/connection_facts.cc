#include "gate/connection_facts.h"

#include <algorithm>

namespace ebb::gate {

bool ConnectionFilter::matches(const ConnectionFacts& facts) const {
  if (!state.empty() && facts.state != state) return false;
  if (!client.empty() && facts.client.host_text() != client) return false;
  if (idle_for > base::Duration::zero() && (facts.state != "idle" || facts.in_state < idle_for)) return false;
  if (backend.empty() && endpoint.empty()) return true;
  return std::ranges::any_of(facts.exchanges, [this](const ExchangeFacts& exchange) {
    return (backend.empty() || exchange.backend == backend) && (endpoint.empty() || exchange.endpoint == endpoint);
  });
}

}  // namespace ebb::gate
