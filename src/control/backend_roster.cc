#include "control/backend_roster.h"

#include <algorithm>
#include <unordered_map>

#include "base/assert.h"

namespace ebb::control {

namespace {

using lifecycle::Membership;
using ByName = std::unordered_map<std::string_view, const gate::ListedEndpoint*>;

ByName by_name(const gate::EndpointList& list) {
  ByName index;
  for (const gate::ListedEndpoint& endpoint : list.endpoints) index.emplace(endpoint.name, &endpoint);
  return index;
}

const gate::ListedEndpoint* find_in(const std::vector<gate::ListedEndpoint>& endpoints, std::string_view name) {
  const auto found = std::ranges::find(endpoints, name, &gate::ListedEndpoint::name);
  return found == endpoints.end() ? nullptr : &*found;
}

// Compares what the file calls `state`.
bool same_state(const gate::ListedEndpoint& a, const gate::ListedEndpoint& b) {
  return a.membership == b.membership && a.wish == b.wish;
}

}  // namespace

BackendRoster::BackendRoster(gate::EndpointList provided, Source source)
    : source_(source), provided_(std::make_shared<const gate::EndpointList>(std::move(provided))), list_(provided_) {}

void BackendRoster::inherit(const BackendRoster& before) {
  if (before.asked_.empty() && before.added_.empty()) return;
  const ByName now = by_name(*provided_);
  const ByName then = by_name(*before.provided_);
  for (const auto& [name, asked] : before.asked_) {
    const auto found = now.find(name);
    const gate::ListedEndpoint& old = *then.at(name);
    if (found == now.end() || found->second->identity != old.identity) continue;
    Asked kept = asked;
    if (!same_state(*found->second, old)) {
      kept.wish.reset();
      kept.leaving = kept.removed = false;
    }
    if (found->second->weight != old.weight) kept.weight.reset();
    if (!kept.nothing()) asked_.emplace(name, std::move(kept));
  }
  for (const Added& added : before.added_) {
    const auto found = now.find(added.endpoint.name);
    if (found == now.end() || hidden(*found->second)) added_.push_back(added);
  }
  rebuild();
}

const gate::ListedEndpoint* BackendRoster::find(std::string_view name) const { return find_in(list_->endpoints, name); }

std::uint32_t BackendRoster::initial_weight(std::string_view name) const {
  for (const Added& added : added_) {
    if (added.endpoint.name == name) return added.initial_weight;
  }
  const gate::ListedEndpoint* const provided = find_provided(name);
  return provided == nullptr ? 0 : provided->weight;
}

BackendRoster::Added* BackendRoster::find_added(std::string_view name) {
  const auto found =
      std::ranges::find(added_, name, [](const Added& added) -> const std::string& { return added.endpoint.name; });
  return found == added_.end() ? nullptr : &*found;
}

const gate::ListedEndpoint* BackendRoster::find_provided(std::string_view name) const {
  return find_in(provided_->endpoints, name);
}

bool BackendRoster::hidden(const gate::ListedEndpoint& provided) const {
  const auto found = asked_.find(provided.name);
  return found != asked_.end() && found->second.removed;
}

void BackendRoster::change(std::string_view name, auto&& of_added, auto&& of_provided) {
  if (Added* const added = find_added(name)) {
    of_added(*added);
  } else {
    const gate::ListedEndpoint* const provided = find_provided(name);
    EBB_ASSERT(provided != nullptr);
    Asked& asked = asked_[std::string(name)];
    of_provided(asked, *provided);
    if (asked.nothing()) asked_.erase(asked_.find(name));
  }
  rebuild();
}

void BackendRoster::set_wish(std::string_view name, lifecycle::Wish wish) {
  const bool ready = wish == lifecycle::Wish::ready;
  change(
      name,
      [&](Added& added) {
        added.endpoint.wish = wish;
        if (ready) added.endpoint.membership = Membership::present;
      },
      [&](Asked& asked, const gate::ListedEndpoint& provided) {
        asked.wish = wish == provided.wish ? std::nullopt : std::optional(wish);
        asked.leaving = asked.leaving && !ready;
      });
}

void BackendRoster::set_leaving(std::string_view name, bool leaving) {
  change(
      name, [&](Added& added) { added.endpoint.membership = leaving ? Membership::leaving : Membership::present; },
      [&](Asked& asked, const gate::ListedEndpoint&) { asked.leaving = leaving; });
}

void BackendRoster::set_weight(std::string_view name, std::uint32_t weight) {
  change(
      name, [&](Added& added) { added.endpoint.weight = weight; },
      [&](Asked& asked, const gate::ListedEndpoint& provided) {
        asked.weight = weight == provided.weight ? std::nullopt : std::optional(weight);
      });
}

void BackendRoster::set_address(std::string_view name, const base::Address& address) {
  change(
      name,
      [&](Added& added) {
        added.endpoint.address = address;
        added.endpoint.identity = routes::endpoint_identity(list_->backend, name, address);
      },
      [&](Asked& asked, const gate::ListedEndpoint& provided) {
        asked.address = address == provided.address ? std::nullopt : std::optional(address);
      });
}

void BackendRoster::set_limit(std::string_view name, std::uint32_t most) {
  // Keep an existing object: it counts the work in progress.
  const auto set = [most](std::shared_ptr<gate::SharedLimit>& limit) {
    if (most == 0) {
      limit.reset();
    } else if (limit != nullptr) {
      limit->set_most(most);
    } else {
      limit = std::make_shared<gate::SharedLimit>(most);
    }
  };
  change(
      name, [&](Added& added) { set(added.endpoint.limit); },
      [&](Asked& asked, const gate::ListedEndpoint&) { set(asked.limit); });
}

void BackendRoster::remove(std::string_view name) {
  if (std::erase_if(added_, [name](const Added& added) { return added.endpoint.name == name; }) > 0) return rebuild();
  asked_[std::string(name)] = {.removed = true};
  rebuild();
}

void BackendRoster::add(gate::ListedEndpoint endpoint) {
  endpoint.identity = routes::endpoint_identity(list_->backend, endpoint.name, endpoint.address);
  const std::uint32_t weight = endpoint.weight;
  added_.push_back({std::move(endpoint), weight});
  rebuild();
}

void BackendRoster::rebuild() {
  auto next = std::make_shared<gate::EndpointList>();
  next->backend = provided_->backend;
  next->endpoints.reserve(provided_->endpoints.size() + added_.size());
  for (const gate::ListedEndpoint& provided : provided_->endpoints) {
    const auto found = asked_.find(provided.name);
    if (found == asked_.end()) {
      next->endpoints.push_back(provided);
      continue;
    }
    const Asked& asked = found->second;
    if (asked.removed) continue;
    gate::ListedEndpoint& endpoint = next->endpoints.emplace_back(provided);
    if (asked.wish) endpoint.wish = *asked.wish;
    if (asked.leaving) endpoint.membership = Membership::leaving;
    if (asked.weight) endpoint.weight = *asked.weight;
    endpoint.limit = asked.limit;
    if (asked.address) {
      endpoint.address = *asked.address;
      endpoint.identity = routes::endpoint_identity(provided_->backend, endpoint.name, endpoint.address);
    }
  }
  for (const Added& added : added_) next->endpoints.push_back(added.endpoint);
  list_ = std::move(next);
}

}  // namespace ebb::control
