// Derives the size of the fleet from the configuration at the start.
#pragma once

#include "config/load.h"
#include "control/fleet.h"

namespace ebb::control {

// Raises the limit of open descriptors as far as allowed.
FleetOptions fleet_options(const config::Loaded& loaded);

}  // namespace ebb::control
