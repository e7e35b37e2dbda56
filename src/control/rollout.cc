#include "control/rollout.h"

#include "control/backend_tls.h"
#include "control/listener_tls.h"

namespace ebb::control {

bool Rollout::apply(config::Loaded loaded, const std::function<bool()>& still_current) {
  gate::Configuration next;
  CanaryLegs legs;
  std::string reason;
  const bool built = build(loaded, next, legs, reason);
  if (still_current != nullptr && !still_current()) return false;
  if (!built) {
    refuse(reason);
    return false;
  }
  {
    Roster::Adoption endpoints = roster_.adopt(*next.snapshot);
    next.endpoints = endpoints.lists();
    const std::vector<std::string> problems = fleet_.apply(next);
    if (!problems.empty()) {
      for (const std::string& problem : problems) reason += (reason.empty() ? "" : "; ") + problem;
      refuse(reason);
      return false;
    }
    endpoints.keep();
    endpoint_events_.on_lists(next.endpoints);
  }
  const routes::Snapshot& snapshot = *next.snapshot;
  {
    std::lock_guard lock(mutex_);
    status_ = {.generation = snapshot.generation(), .digest = snapshot.model().digest, .applied_at = clock_.wall()};
    for (const routes::Listener& listener : snapshot.listeners()) status_.listeners.push_back(listener.model.name);
  }
  events_.info("config_applied", {{"generation", std::to_string(snapshot.generation())},
                                  {"digest", snapshot.model().digest},
                                  {"listeners", std::to_string(snapshot.listeners().size())},
                                  {"routes", std::to_string(snapshot.routes().size())},
                                  {"backends", std::to_string(snapshot.backends().size())}});
  canary_.follow(snapshot, std::move(legs));
  return true;
}

bool Rollout::build(config::Loaded& loaded, gate::Configuration& out, CanaryLegs& legs, std::string& reason) {
  for (const routes::ListenerModel& listener : loaded.model.listeners) {
    std::shared_ptr<const wire::ServerContext>& place = out.tls.emplace_back();
    if (listener.protocol != routes::Protocol::https) continue;
    auto context = build_tls(listener, tickets_);
    if (!context) {
      reason = config::text_of(context.error());
      return false;
    }
    place = std::move(*context);
    warn_of_expiry(listener, *place);
  }
  for (const routes::BackendModel& backend : loaded.model.backends) {
    auto context = build_backend_tls(backend);
    if (!context) {
      reason = config::text_of(context.error());
      return false;
    }
    out.backend_tls.push_back(std::move(*context));
  }
  auto walked = build_canary_legs(loaded.model);
  if (!walked) {
    reason = config::text_of(walked.error());
    return false;
  }
  legs = std::move(*walked);
  const std::uint64_t generation = status().generation + 1;
  const std::vector<routes::Refusal> refusals =
      routes::Snapshot::compile(std::move(loaded.model), generation, labels_, out.snapshot);
  for (const routes::Refusal& refusal : refusals) {
    reason += (reason.empty() ? "" : "; ") + refusal.key + ": " + refusal.reason + "; " + refusal.remedy;
  }
  return refusals.empty();
}

void Rollout::warn_of_expiry(const routes::ListenerModel& listener, const wire::ServerContext& context) {
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(clock_.wall().time_since_epoch()).count();
  const std::int64_t days = (context.first_expiry() - now) / 86400;
  if (days < 14) {
    events_.warning("certificate_expires", {{"listener", listener.name}, {"days", std::to_string(days)}});
  }
}

void Rollout::refuse(const std::string& reason) {
  {
    std::lock_guard lock(mutex_);
    status_.last_refusal = reason;
    status_.refused_at = clock_.wall();
  }
  events_.error("config_refused", {{"reason", reason}});
}

RolloutStatus Rollout::status() const {
  std::lock_guard lock(mutex_);
  return status_;
}

}  // namespace ebb::control
