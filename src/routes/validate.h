// The rules that a model must satisfy to become a Snapshot.
#pragma once

#include <vector>

#include "routes/snapshot.h"

namespace ebb::routes {

// All errors, in the order of the model; empty if the model is valid.
std::vector<Refusal> validate(const Model& model);

// The name of a route in logs and metrics: its own, or "host/path".
std::string route_name(const RouteModel& route);

}  // namespace ebb::routes
