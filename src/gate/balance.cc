#include "gate/balance.h"

#include <algorithm>

#include "gate/choice.h"
#include "lifecycle/slow_start.h"

namespace ebb::gate {

using base::Handle;
using lifecycle::Bond;
using lifecycle::Standing;
using routes::Balance;

namespace {

bool contains(std::span<const Handle> handles, Handle handle) {
  return std::find(handles.begin(), handles.end(), handle) != handles.end();
}

class Chooser {
 public:
  Chooser(Core& core, BackendView& view, const routes::BackendModel& model, const Claim& claim)
      : core_(core), view_(view), model_(model), claim_(claim) {}

  Handle choose() {
    if (const LiveEndpoint* bound = core_.endpoints->find(claim_.bound); bound != nullptr && stays_with(*bound)) {
      return core_.endpoints->has_room(*bound) ? claim_.bound : Handle{};
    }
    for (const Standing standing : {Standing::chosen, Standing::leaving, Standing::doubtful}) {
      gather(standing);
      if (!view_.candidates.empty()) return view_.candidates[pick()].handle;
    }
    return {};
  }

 private:
  bool stays_with(const LiveEndpoint& bound) {
    if (!model_.sticky || contains(claim_.tried, claim_.bound)) return false;
    switch (bond_with(bound, *model_.sticky, core_.reactor.now())) {
      case Bond::holds: return true;
      case Bond::yields: return !any_better_than(lifecycle::standing_for_bound(bound.life()));
      case Bond::broken: break;
    }
    return false;
  }

  bool any_better_than(Standing standing) {
    return std::any_of(view_.endpoints.begin(), view_.endpoints.end(), [&](Handle handle) {
      const LiveEndpoint* endpoint = core_.endpoints->find(handle);
      return endpoint->standing() < standing && takes(*endpoint);
    });
  }

  bool takes(const LiveEndpoint& endpoint) {
    return endpoint.weight > 0 && core_.endpoints->has_room(endpoint) && !contains(claim_.tried, endpoint.self);
  }

  void gather(Standing standing) {
    view_.candidates.clear();
    for (const Handle handle : view_.endpoints) {
      const LiveEndpoint* endpoint = core_.endpoints->find(handle);
      if (endpoint->standing() != standing || !takes(*endpoint)) continue;
      view_.candidates.push_back({.handle = handle,
                                  .identity = endpoint->identity,
                                  .weight = endpoint->weight,
                                  .active = endpoint->clients(),
                                  .credit = endpoint->credit});
    }
    if (model_.slow_start > base::Duration::zero()) warm_slowly();
  }

  void warm_slowly() {
    const base::Instant now = core_.reactor.now();
    const auto share = [&](const Candidate& candidate) {
      const base::Instant since = core_.endpoints->find(candidate.handle)->warm_since;
      return lifecycle::warming_share(now - since, model_.slow_start);
    };
    const auto warm = static_cast<std::size_t>(std::ranges::count(view_.candidates, lifecycle::full_share, share));
    if (warm == view_.candidates.size()) return;
    if (!lifecycle::may_warm_slowly(warm, view_.candidates.size(), view_.queue.size())) return;
    for (Candidate& candidate : view_.candidates) candidate.weight *= share(candidate);
  }

  std::size_t pick() {
    if (view_.candidates.size() == 1) return 0;
    switch (model_.balance) {
      case Balance::round_robin: return in_turn(next_turn(view_.candidates));
      case Balance::least_request: return in_turn(least_busy(view_.candidates));
      case Balance::source_hash:
      case Balance::header_hash:
        if (claim_.key) return owner_of_key(view_.candidates, *claim_.key);
        break;
      case Balance::random: break;
    }
    return less_busy_of_two(view_.candidates, core_.random);
  }

  std::size_t in_turn(std::size_t index) {
    for (const Candidate& candidate : view_.candidates) {
      core_.endpoints->find(candidate.handle)->credit = candidate.credit;
    }
    return index;
  }

  Core& core_;
  BackendView& view_;
  const routes::BackendModel& model_;
  const Claim& claim_;
};

}  // namespace

Bond bond_with(const LiveEndpoint& endpoint, const routes::StickyModel& sticky, base::Instant now) {
  return lifecycle::bond(endpoint.life(), {.kept_while_draining = sticky.drain == routes::StickyDrain::keep,
                                           .drain_overdue = now >= endpoint.bound_until});
}

Handle choose_endpoint(Core& core, BackendView& view, const routes::BackendModel& model, const Claim& claim) {
  return Chooser(core, view, model, claim).choose();
}

}  // namespace ebb::gate
