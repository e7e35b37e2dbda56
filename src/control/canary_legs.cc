#include "control/canary_legs.h"

#include <fmt/format.h>

#include "canary/doors.h"
#include "control/pem_files.h"

namespace ebb::control {

std::expected<CanaryLegs, config::Diagnostics> build_canary_legs(const routes::Model& model) {
  CanaryLegs built;
  if (!model.canary) return built;
  PemFiles files("the canary");
  const canary::Trust trust{.verify = model.canary->verify,
                            .authorities = {files.read(model.canary->ca, "authorities"), model.canary->ca}};
  if (!files.problems().empty()) return std::unexpected(files.problems());
  auto legs = canary::lay_out(canary::doors_of(model), trust);
  if (!legs) return std::unexpected(config::Diagnostics{{"the canary", 0, 0, "", legs.error(), ""}});
  built.legs = std::move(*legs);
  built.fingerprint = fmt::format("{}\n{}\n", trust.verify, trust.authorities.pem);
  for (const canary::Leg& leg : built.legs) {
    built.fingerprint += fmt::format("{} {} {} {} {}\n", leg.name(), leg.host, leg.port, leg.authority, leg.path);
  }
  return built;
}

}  // namespace ebb::control
