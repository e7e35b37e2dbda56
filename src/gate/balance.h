// Which endpoint takes a request. Ready endpoints first; leaving ones (terminating, still serving) only when no ready
// one is left; drain and maint never.
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
