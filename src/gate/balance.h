// Which endpoint takes a request: of those that stand best (lifecycle/endpoint.h) and have room, the one that the
// backend's way of balancing prefers.
//
// Before: routes/match. Next: gate/backends.
#pragma once

#include <span>

#include "gate/endpoints.h"

namespace ebb::gate {

// `tried`: endpoints that this request must not be sent to again. An invalid handle: there is none.
base::Handle choose_endpoint(Endpoints& endpoints, BackendView& view, routes::Balance balance,
                             std::span<const base::Handle> tried);

}  // namespace ebb::gate
