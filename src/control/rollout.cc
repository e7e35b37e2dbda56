#include "control/rollout.h"

namespace ebb::control {

Outcome Rollout::apply(Desired desired) {
  const std::lock_guard turn(turn_);
  auto model = desired_.join(desired.provider, std::move(desired.model));
  Built built = model ? build(desired.provider, std::move(*model)) : Built{.problems = std::move(model.error())};
  if (desired.still_current != nullptr && !desired.still_current()) return {};
  if (!built.problems.empty()) return refuse_with(std::move(built.problems));
  std::string reason;
  if (!hand_over(built.configuration, reason)) {
    refuse(reason);
    return {.problems = {{std::string(desired.provider), 0, 0, "", reason, ""}}};
  }
  desired_.keep();
  const routes::Snapshot& snapshot = *built.configuration.snapshot;
  note(snapshot);
  canary_.follow(snapshot, std::move(built.legs));
  return {.generation = snapshot.generation()};
}

Rollout::Built Rollout::build(std::string_view provider, routes::Model model) {
  Materials materials = build_materials(model, tickets_);
  if (!materials.problems.empty()) return {.problems = std::move(materials.problems)};
  warn_of_expiry(model, materials);
  Built built{.configuration = {.tls = std::move(materials.tls), .backend_tls = std::move(materials.backend_tls)},
              .legs = std::move(materials.legs)};
  const std::uint64_t generation = status().generation + 1;
  for (routes::Refusal& refusal :
       routes::Snapshot::compile(std::move(model), generation, labels_, built.configuration.snapshot)) {
    built.problems.push_back({std::string(provider), 0, 0, refusal.key, refusal.reason, refusal.remedy});
  }
  return built;
}

// Endpoint lists and snapshot together: a change at run time waits, so that it cannot be overtaken.
bool Rollout::hand_over(gate::Configuration& next, std::string& reason) {
  Roster::Adoption endpoints = roster_.adopt(*next.snapshot);
  next.endpoints = endpoints.lists();
  for (const std::string& problem : fleet_.apply(next)) reason += (reason.empty() ? "" : "; ") + problem;
  if (!reason.empty()) return false;
  endpoints.keep();
  endpoint_events_.on_lists(next.endpoints);
  return true;
}

void Rollout::note(const routes::Snapshot& snapshot) {
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
}

void Rollout::warn_of_expiry(const routes::Model& model, const Materials& materials) {
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(clock_.wall().time_since_epoch()).count();
  for (std::size_t i = 0; i < model.listeners.size(); ++i) {
    if (materials.tls[i] == nullptr) continue;
    const std::int64_t days = (materials.tls[i]->first_expiry() - now) / 86400;
    if (days >= 14) continue;
    events_.warning("certificate_expires", {{"listener", model.listeners[i].name}, {"days", std::to_string(days)}});
  }
}

Outcome Rollout::refuse_with(config::Diagnostics problems) {
  refuse(config::text_of(problems));
  return {.problems = std::move(problems)};
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
