// Joins the parts of all providers. Listeners, routes and backends are the sum of all parts; settings that exist once
// (limits, timeouts, log, canary) are the first provider's. A name belongs to the provider that has it; the same name
// in another part is refused. Pure; owned by Rollout.
//
//   join() -> it is served -> keep()        without keep(), the provider's part is as it was before
#pragma once

#include <expected>
#include <string_view>
#include <utility>
#include <vector>

#include "config/diagnostic.h"
#include "routes/model.h"

namespace ebb::control {

class DesiredState {
 public:
  // In order of precedence.
  explicit DesiredState(const std::vector<std::string_view>& providers);

  // All parts, with this part in place of the provider's previous part.
  std::expected<routes::Model, config::Diagnostics> join(std::string_view provider, routes::Model part);
  void keep();

 private:
  struct Part {
    std::string_view provider;
    routes::Model model{};
  };
  config::Diagnostics clashes(std::size_t with, const routes::Model& part) const;

  std::vector<Part> parts_;  // the served parts; not kept for a single provider
  std::size_t joined_ = 0;   // index of the part that `candidate_` replaces
  routes::Model candidate_;
};

}  // namespace ebb::control
