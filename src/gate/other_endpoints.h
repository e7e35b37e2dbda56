// Questions about the other endpoints of an endpoint's backend.
#pragma once

#include <algorithm>

#include "gate/endpoints.h"

namespace ebb::gate {

template <class Predicate>  // (endpoint)
bool any_other(const Core& core, const LiveEndpoint& endpoint, Predicate&& predicate) {
  return std::ranges::any_of(core.endpoints->view(endpoint.view).endpoints, [&](base::Handle handle) {
    const LiveEndpoint* other = core.endpoints->find(handle);
    return other != nullptr && other != &endpoint && predicate(*other);
  });
}

}  // namespace ebb::gate
