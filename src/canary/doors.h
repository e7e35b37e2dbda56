// Which doors a configuration opens to its canary. Pure.
//
// A probed route stands behind a listener that serves it. Without TLS the leg is plain, with TLS the route's `tls`
// decides. A replica needs one door of each kind: the first of the configuration.
#pragma once

#include <vector>

#include "canary/leg.h"
#include "routes/model.h"

namespace ebb::canary {

// Empty without a canary. Doors of this router come first, then those of each replica.
std::vector<Door> doors_of(const routes::Model& model);

}  // namespace ebb::canary
