// From the configuration that a process is started with to the size of its fleet.
#pragma once

#include "config/load.h"
#include "control/fleet.h"

namespace ebb::control {

// Raises the limit of open descriptors as far as it goes.
FleetOptions fleet_options(const config::Loaded& loaded);

}  // namespace ebb::control
