#include "control/materials.h"

#include <iterator>

#include "control/backend_tls.h"
#include "control/listener_tls.h"

namespace ebb::control {

namespace {

// The object, or nothing and the reasons.
template <class Made>
Made take(std::expected<Made, config::Diagnostics> made, config::Diagnostics& problems) {
  if (made) return std::move(*made);
  std::ranges::move(made.error(), std::back_inserter(problems));
  return {};
}

}  // namespace

Materials build_materials(const routes::Model& model, const std::shared_ptr<wire::TicketKeys>& tickets) {
  Materials built;
  for (const routes::ListenerModel& listener : model.listeners) {
    const bool terminates = listener.protocol == routes::Protocol::https;
    built.tls.push_back(terminates ? take(build_tls(listener, tickets), built.problems) : nullptr);
  }
  for (const routes::BackendModel& backend : model.backends) {
    built.backend_tls.push_back(take(build_backend_tls(backend), built.problems));
  }
  built.legs = take(build_canary_legs(model), built.problems);
  return built;
}

}  // namespace ebb::control
