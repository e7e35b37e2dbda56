// Turns the `canary` section into legs that can be probed. `run` uses them, `check` tries them.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "canary/leg.h"
#include "config/diagnostic.h"
#include "routes/model.h"

namespace ebb::control {

struct CanaryLegs {
  std::vector<canary::Leg> legs;  // empty without a canary
  std::string fingerprint;        // equal: the same legs with the same trust
};

std::expected<CanaryLegs, config::Diagnostics> build_canary_legs(const routes::Model& model);

}  // namespace ebb::control
