#include "gate/balance.h"

#include <algorithm>

namespace ebb::gate {

using lifecycle::Standing;

namespace {

bool may_take(const Endpoints& endpoints, const EndpointState* endpoint, Standing standing) {
  return endpoint != nullptr && endpoint->standing() == standing && endpoint->weight > 0 &&
         endpoints.has_room(*endpoint);
}

bool contains(std::span<const base::Handle> handles, base::Handle handle) {
  return std::find(handles.begin(), handles.end(), handle) != handles.end();
}

// Weighted: each round an endpoint gets as many turns as its weight. The cursor counts turns, not endpoints.
base::Handle next_turn(Endpoints& endpoints, BackendView& view, Standing standing,
                       std::span<const base::Handle> tried) {
  std::uint64_t turns = 0;
  for (const base::Handle handle : view.endpoints) {
    const EndpointState* endpoint = endpoints.find(handle);
    if (may_take(endpoints, endpoint, standing) && !contains(tried, handle)) turns += endpoint->weight;
  }
  if (turns == 0) return {};
  std::uint64_t turn = view.cursor++ % turns;
  for (const base::Handle handle : view.endpoints) {
    const EndpointState* endpoint = endpoints.find(handle);
    if (!may_take(endpoints, endpoint, standing) || contains(tried, handle)) continue;
    if (turn < endpoint->weight) return handle;
    turn -= endpoint->weight;
  }
  return {};
}

// The least (active + 1) / weight; ties go round, so that an idle backend is used evenly.
base::Handle least_busy(Endpoints& endpoints, BackendView& view, Standing standing,
                        std::span<const base::Handle> tried) {
  base::Handle best;
  std::uint64_t best_load = 0;
  std::uint32_t best_weight = 1;
  const std::size_t count = view.endpoints.size();
  const std::size_t start = count == 0 ? 0 : view.cursor++ % count;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t index = start + i < count ? start + i : start + i - count;
    const base::Handle handle = view.endpoints[index];
    const EndpointState* endpoint = endpoints.find(handle);
    if (!may_take(endpoints, endpoint, standing) || contains(tried, handle)) continue;
    const std::uint64_t load = std::uint64_t{endpoint->active} + 1;
    if (!best || load * best_weight < best_load * endpoint->weight) {
      best = handle;
      best_load = load;
      best_weight = endpoint->weight;
    }
  }
  return best;
}

}  // namespace

base::Handle choose_endpoint(Endpoints& endpoints, BackendView& view, routes::Balance balance,
                             std::span<const base::Handle> tried) {
  for (const Standing standing : {Standing::chosen, Standing::leaving, Standing::doubtful}) {
    const base::Handle chosen = balance == routes::Balance::round_robin ? next_turn(endpoints, view, standing, tried)
                                                                        : least_busy(endpoints, view, standing, tried);
    if (chosen) return chosen;
  }
  return {};
}

}  // namespace ebb::gate
