#include "control/endpoint_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <unordered_set>

namespace ebb::control {

using observe::EventLog;

namespace {

std::string_view leaves(const gate::ListedEndpoint& endpoint) {
  if (endpoint.wish != lifecycle::Wish::ready) return lifecycle::wish_names[static_cast<std::size_t>(endpoint.wish)];
  if (endpoint.membership == lifecycle::Membership::present) return "";
  return lifecycle::membership_names[static_cast<std::size_t>(endpoint.membership)];
}

std::string_view name(lifecycle::Health health) {
  return lifecycle::HealthLife::state_names[static_cast<std::size_t>(health)];
}

std::string ms(base::Duration duration) { return std::to_string(base::to_ms(duration)); }

}  // namespace

void EndpointEvents::on_health_change(const gate::HealthChange& change) {
  const bool better = change.to == lifecycle::Health::up || change.to == lifecycle::Health::warming;
  outbox_.put(better ? EventLog::Level::info : EventLog::Level::warning, "endpoint_health",
              {{"backend", change.backend},
               {"endpoint", change.endpoint},
               {"address", change.address.text()},
               {"from", std::string(name(change.from))},
               {"to", std::string(name(change.to))},
               {"cause", std::string(base::name(change.cause))},
               {"condemned", change.condemned ? "true" : "false"},
               {"ejected", change.ejected ? "true" : "false"},
               {"lasted_ms", ms(change.lasted)},
               {"silence", std::string(lifecycle::doubt_names[static_cast<std::size_t>(change.doubt)])},
               {"surprise", fmt::format("{:.1f}", change.surprise)},
               {"trials_failed", std::to_string(change.trials_failed)}});
}

void EndpointEvents::on_relief(const gate::SilenceRelief& relief) {
  outbox_.put(EventLog::Level::info, "endpoint_relieved",
              {{"backend", relief.backend},
               {"endpoint", relief.endpoint},
               {"address", relief.address.text()},
               {"moved", std::to_string(relief.moved)},
               {"kept", std::to_string(relief.kept)}});
}

void EndpointEvents::on_list(const SharedEndpointList& list) {
  const std::lock_guard lock(mutex_);
  take(*list);
}

void EndpointEvents::on_lists(const std::vector<SharedEndpointList>& lists) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> gone;
  std::unordered_set<std::string_view> served;
  for (const SharedEndpointList& list : lists) served.insert(list->backend);
  for (const auto& [backend, identities] : listed_) {
    if (!served.contains(backend)) gone.push_back(backend);
  }
  for (const SharedEndpointList& list : lists) take(*list);
  for (const std::string& backend : gone) {
    take({.backend = backend});
    listed_.erase(backend);
  }
}

void EndpointEvents::leave_out(std::vector<std::string> backends) {
  const std::lock_guard lock(mutex_);
  left_out_ = std::move(backends);
}

void EndpointEvents::take(const gate::EndpointList& list) {
  if (std::ranges::find(left_out_, list.backend) != left_out_.end()) return;
  std::vector<std::uint64_t> before = std::exchange(listed_[list.backend], {});
  std::vector<std::uint64_t>& now = listed_[list.backend];
  for (const gate::ListedEndpoint& endpoint : list.endpoints) {
    now.push_back(endpoint.identity);
    Known& known = known_[endpoint.identity];
    known.backend = list.backend;
    known.endpoint = endpoint;
    change(known, leaves(endpoint));
  }
  std::ranges::sort(now);
  for (const std::uint64_t identity : before) {
    if (std::ranges::binary_search(now, identity)) continue;
    const auto found = known_.find(identity);
    if (found == known_.end()) continue;
    change(found->second, "gone");
    if (found->second.drained) known_.erase(found);
  }
}

void EndpointEvents::change(Known& known, std::string_view leaves) {
  const std::string_view before = std::exchange(known.leaves, leaves);
  if (before == leaves) return;
  if (leaves.empty()) {
    known.drained = false;
    return put(EventLog::Level::info, "endpoint_ready", known);
  }
  if (before.empty()) {
    known.draining_since = clock_.now();
    known.drained = false;
  }
  put(EventLog::Level::info, "endpoint_draining", known, {{"why", std::string(leaves)}});
  if (!known.drained) watch(known.endpoint.identity, known);
}

// Each worker reports once when it is idle. After the last report all workers are asked again, since one may have got
// work while another was busy.
void EndpointEvents::watch(std::uint64_t identity, Known& known) {
  if (std::exchange(known.watched, true)) return;
  const auto missing = std::make_shared<std::atomic<std::size_t>>(fleet_->size());
  for (std::size_t worker = 0; worker < fleet_->size(); ++worker) {
    fleet_->post(worker, [this, identity, worker, missing] {
      fleet_->worker(worker).when_idle(identity, [this, identity, missing] {
        if (missing->fetch_sub(1) == 1) all_idle(identity);
      });
    });
  }
}

void EndpointEvents::all_idle(std::uint64_t identity) {
  struct Answers {
    std::atomic<std::size_t> missing;
    std::atomic<bool> busy = false;
  };
  const auto answers = std::make_shared<Answers>(fleet_->size());
  for (std::size_t worker = 0; worker < fleet_->size(); ++worker) {
    fleet_->post(worker, [this, identity, worker, answers] {
      if (fleet_->worker(worker).endpoints().in_flight(identity).total() > 0) answers->busy = true;
      if (answers->missing.fetch_sub(1) == 1) confirmed(identity, answers->busy);
    });
  }
}

void EndpointEvents::confirmed(std::uint64_t identity, bool busy) {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(identity);
  if (found == known_.end()) return;
  Known& known = found->second;
  known.watched = false;
  if (known.leaves.empty()) return;
  if (busy) return watch(identity, known);
  known.drained = true;
  put(EventLog::Level::info, "endpoint_drained", known,
      {{"why", std::string(known.leaves)}, {"took_ms", ms(clock_.now() - known.draining_since)}});
  if (known.leaves == "gone") known_.erase(found);
}

void EndpointEvents::put(EventLog::Level level, std::string_view event, const Known& known,
                         std::vector<observe::EventOutbox::Field> more) {
  std::vector<observe::EventOutbox::Field> fields = {
      {"backend", known.backend}, {"endpoint", known.endpoint.name}, {"address", known.endpoint.address.text()}};
  std::ranges::move(more, std::back_inserter(fields));
  outbox_.put(level, event, std::move(fields));
}

}  // namespace ebb::control
