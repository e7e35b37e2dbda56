#include "control/roster.h"

#include <algorithm>

namespace ebb::control {

namespace {

// Labels are never freed; the remaining ones are reserved for the provider's names.
constexpr std::size_t labels_spare = 1'000'000;

}  // namespace

Roster::Adoption::Adoption(Roster& roster, const routes::Snapshot& snapshot) : roster_(roster), lock_(roster.mutex_) {
  backends_.reserve(snapshot.backends().size());
  lists_.reserve(snapshot.backends().size());
  for (const routes::Backend& backend : snapshot.backends()) {
    const BackendRoster* const before = roster_.find_backend(backend.model.name);
    const bool apart = before != nullptr && before->source() == BackendRoster::Source::apart;
    auto& next =
        backends_.emplace_back(apart && backend.endpoints.empty()
                                   ? std::make_unique<BackendRoster>(before->provided(), BackendRoster::Source::apart)
                                   : std::make_unique<BackendRoster>(gate::endpoint_list(backend)));
    if (before != nullptr) next->inherit(*before);
    lists_.push_back(next->list());
  }
}

void Roster::Adoption::keep() {
  roster_.backends_ = std::move(backends_);
  roster_.by_name_.clear();
  roster_.added_ = 0;
  for (const auto& backend : roster_.backends_) {
    roster_.by_name_.emplace(backend->name(), backend.get());
    roster_.added_ += backend->added();
  }
}

bool Roster::provide(gate::EndpointList list) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(backends_, list.backend, [](const auto& one) { return one->name(); });
  if (found == backends_.end()) return false;
  BackendRoster& before = **found;
  if (before.source() == BackendRoster::Source::model && !before.provided().endpoints.empty()) return false;
  for (gate::ListedEndpoint& endpoint : list.endpoints) {
    endpoint.identity = routes::endpoint_identity(list.backend, endpoint.name, endpoint.address);
    endpoint.label = labels_.intern(endpoint.name);
  }
  auto next = std::make_unique<BackendRoster>(std::move(list), BackendRoster::Source::apart);
  next->inherit(before);
  added_ = added_ - before.added() + next->added();
  by_name_.erase(before.name());  // its key is a view of that name
  by_name_.emplace(next->name(), next.get());
  *found = std::move(next);
  publish_((*found)->list());
  return true;
}

BackendRoster* Roster::find_backend(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

Roster::Outcome Roster::change(std::string_view backend, std::string_view name,
                               const std::function<void(BackendRoster&)>& edit) {
  BackendRoster* const found = find_backend(backend);
  if (found == nullptr) return std::unexpected(RosterRefusal::no_backend);
  if (found->find(name) == nullptr) return std::unexpected(RosterRefusal::no_endpoint);
  edit(*found);
  publish_(found->list());
  return *found->find(name);
}

Roster::Outcome Roster::set_wish(std::string_view backend, std::string_view name, lifecycle::Wish wish) {
  const std::lock_guard lock(mutex_);
  return change(backend, name, [&](BackendRoster& roster) { roster.set_wish(name, wish); });
}

Roster::Outcome Roster::set_leaving(std::string_view backend, std::string_view name, bool leaving) {
  const std::lock_guard lock(mutex_);
  return change(backend, name, [&](BackendRoster& roster) { roster.set_leaving(name, leaving); });
}

Roster::Outcome Roster::set_weight(std::string_view backend, std::string_view name, std::uint32_t weight) {
  const std::lock_guard lock(mutex_);
  return change(backend, name, [&](BackendRoster& roster) { roster.set_weight(name, weight); });
}

Roster::Outcome Roster::set_address(std::string_view backend, std::string_view name, const base::Address& address) {
  const std::lock_guard lock(mutex_);
  return change(backend, name, [&](BackendRoster& roster) { roster.set_address(name, address); });
}

Roster::Outcome Roster::set_limit(std::string_view backend, std::string_view name, std::uint32_t most) {
  const std::lock_guard lock(mutex_);
  return change(backend, name, [&](BackendRoster& roster) { roster.set_limit(name, most); });
}

Roster::Outcome Roster::add(std::string_view backend, gate::ListedEndpoint endpoint) {
  const std::lock_guard lock(mutex_);
  BackendRoster* const found = find_backend(backend);
  if (found == nullptr) return std::unexpected(RosterRefusal::no_backend);
  if (found->find(endpoint.name) != nullptr) return std::unexpected(RosterRefusal::name_taken);
  if (added_ == added_max || labels_.room() < labels_spare) return std::unexpected(RosterRefusal::too_many);
  endpoint.label = labels_.intern(endpoint.name);
  const std::string name = endpoint.name;
  found->add(std::move(endpoint));
  added_ += 1;
  publish_(found->list());
  return *found->find(name);
}

Roster::Outcome Roster::remove(std::string_view backend, std::string_view name) {
  const std::lock_guard lock(mutex_);
  BackendRoster* const found = find_backend(backend);
  if (found == nullptr) return std::unexpected(RosterRefusal::no_backend);
  const gate::ListedEndpoint* const endpoint = found->find(name);
  if (endpoint == nullptr) return std::unexpected(RosterRefusal::no_endpoint);
  if (endpoint->wish != lifecycle::Wish::maint) return std::unexpected(RosterRefusal::not_in_maintenance);
  gate::ListedEndpoint last = *endpoint;
  added_ -= found->added();
  found->remove(name);
  added_ += found->added();
  publish_(found->list());
  return last;
}

Roster::Outcome Roster::find(std::string_view backend, std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const BackendRoster* const found = find_backend(backend);
  if (found == nullptr) return std::unexpected(RosterRefusal::no_backend);
  const gate::ListedEndpoint* const endpoint = found->find(name);
  if (endpoint == nullptr) return std::unexpected(RosterRefusal::no_endpoint);
  return *endpoint;
}

SharedEndpointList Roster::list(std::string_view backend) const {
  const std::lock_guard lock(mutex_);
  const BackendRoster* const found = find_backend(backend);
  return found == nullptr ? nullptr : found->list();
}

std::vector<SharedEndpointList> Roster::lists() const {
  const std::lock_guard lock(mutex_);
  std::vector<SharedEndpointList> all;
  all.reserve(backends_.size());
  for (const auto& backend : backends_) all.push_back(backend->list());
  return all;
}

std::uint32_t Roster::initial_weight(std::string_view backend, std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const BackendRoster* const found = find_backend(backend);
  return found == nullptr ? 0 : found->initial_weight(name);
}

}  // namespace ebb::control
