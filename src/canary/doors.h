// Which doors a configuration opens to its canary. Pure.
//
// A route that is walked stands behind a listener that serves it: without TLS that is a plain leg, with TLS what the
// route's `tls` says. Of each kind one door is enough for a replica: the first of the configuration.
#pragma once

#include <vector>

#include "canary/leg.h"
#include "routes/model.h"

namespace ebb::canary {

// Empty without a canary. Doors of this router come first, then those of each replica.
std::vector<Door> doors_of(const routes::Model& model);

}  // namespace ebb::canary
