#include "app/admin_sources.h"

namespace ebb::app {

namespace {

void add_worker_questions(admin::Sources& sources, control::Fleet& fleet) {
  sources.workers = fleet.size();
  sources.post = [&fleet](std::size_t worker, std::move_only_function<void()> task) {
    fleet.post(worker, std::move(task));
  };
  sources.counters = [&fleet](std::size_t worker) { return fleet.worker(worker).collect(); };
  sources.endpoints = [&fleet](std::size_t worker) { return fleet.worker(worker).endpoint_facts(); };
  sources.backends = [&fleet](std::size_t worker) { return fleet.worker(worker).backend_facts(); };
  sources.in_flight = [&fleet](std::size_t worker, std::uint64_t identity) {
    return fleet.worker(worker).endpoints().in_flight(identity);
  };
  sources.when_idle = [&fleet](std::size_t worker, std::uint64_t identity, std::move_only_function<void()> tell) {
    fleet.worker(worker).when_idle(identity, std::move(tell));
  };
  sources.connections = [&fleet](std::size_t worker, const gate::ConnectionFilter& filter) {
    return fleet.worker(worker).connection_facts(filter);
  };
  sources.end_connection = [&fleet](std::size_t worker, base::Handle connection) {
    return fleet.worker(worker).end_connection(connection);
  };
  sources.end_work = [&fleet](std::size_t worker, std::uint64_t identity) { fleet.worker(worker).end_work(identity); };
}

}  // namespace

admin::Sources admin_sources(control::Fleet& fleet, control::Roster& roster, const control::Rollout& rollout,
                             const control::CanaryProbing& canary, observe::AccessLog& access_log,
                             const observe::SelfAudit& audit, const base::Labels& labels,
                             const std::atomic<bool>& draining) {
  admin::Sources sources;
  add_worker_questions(sources, fleet);
  sources.roster = &roster;
  sources.readiness = [&rollout, &draining]() -> admin::Readiness {
    if (draining) return {false, "stopping"};
    const std::uint64_t generation = rollout.status().generation;
    if (generation == 0) return {false, "no configuration has been applied"};
    return {true, "serving generation " + std::to_string(generation)};
  };
  sources.config = [&rollout] {
    const control::RolloutStatus status = rollout.status();
    admin::ConfigStatus config{
        .generation = status.generation, .digest = status.digest, .applied_at = status.applied_at};
    if (!status.last_refusal.empty()) config.last_refusal = {status.refused_at, status.last_refusal};
    return config;
  };
  sources.listeners = [&rollout] { return rollout.status().listeners; };
  sources.log_losses = [&access_log] { return access_log.losses(); };
  sources.audit = [&audit] { return audit.report(); };
  sources.canary = [&canary] { return canary.facts(); };
  sources.labels = &labels;
  sources.client_states = lifecycle::ClientConnectionLife::state_names;
  sources.backend_states = lifecycle::BackendConnectionLife::state_names;
  sources.health_states = lifecycle::HealthLife::state_names;
  sources.version = EBB_VERSION;
  return sources;
}

}  // namespace ebb::app
