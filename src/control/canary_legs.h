// From the `canary` section to legs that can be walked: what `run` uses and `check` tries.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "canary/leg.h"
#include "config/diagnostic.h"
#include "routes/model.h"

namespace ebb::control {

struct CanaryLegs {
  std::vector<canary::Leg> legs;  // none without a canary
  std::string fingerprint;        // equal: they are the same, and proven in the same way
};

std::expected<CanaryLegs, config::Diagnostics> build_canary_legs(const routes::Model& model);

}  // namespace ebb::control
