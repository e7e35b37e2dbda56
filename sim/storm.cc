#include "sim/storm.h"

#include <algorithm>

namespace ebb::sim {

void Storm::begin(Duration time) {
  const Instant end = world_.now() + time;
  const auto repeat = [&](bool wanted, Duration every, auto fault) {
    if (!wanted) return;
    for (Instant at = world_.now(); at < end; at += world_.draw(every / 10, every * 2))
      world_.at(at, [this, fault] {
        if (!over_) fault();
      });
  };
  repeat(climate_.path_faults, milliseconds{100}, [this] { strike_path(); });
  repeat(climate_.host_faults, milliseconds{500}, [this] { strike_host(); });
  repeat(climate_.descriptors_scarce, milliseconds{500}, [this] { starve(); });
  repeat(climate_.endpoint_changes, milliseconds{200}, [this] { change_endpoints(); });
  repeat(climate_.listener_changes, milliseconds{400}, [this] { change_listener_(); });
}

void Storm::strike_path() {
  base::Rng& rng = world_.rng();
  const std::vector<EndId> ends = site_.workers()[rng.below(site_.workers().size())].reactor->ends();
  if (ends.empty()) return;
  const EndId end = ends[rng.below(ends.size())];
  if (rng.chance(500)) {
    network_.sever(end);
  } else {
    network_.black_hole(end);
  }
}

void Storm::strike_host() {
  base::Rng& rng = world_.rng();
  Group& group = site_.groups()[rng.below(site_.groups().size())];
  Backend* process = group.endpoints[rng.below(group.endpoints.size())].process.get();
  const Duration time = world_.draw(milliseconds{10}, seconds{2});
  constexpr Ill ills[] = {Ill::frozen, Ill::mute, Ill::gray, Ill::resets};
  constexpr Way ways[] = {Way::swallows, Way::unreachable, Way::loses_fins};
  switch (rng.below(4)) {
    case 0: process->refuse(); break;
    case 1: process->kill(); break;
    case 2: process->fall_ill(ills[rng.below(std::size(ills))]); break;
    default: process->lose_way(ways[rng.below(std::size(ways))]); break;
  }
  world_.after(time, [process] {
    process->open();
    process->recover();
    process->find_way();
  });
}

void Storm::starve() {
  SimReactor* reactor = site_.workers()[world_.rng().below(site_.workers().size())].reactor.get();
  reactor->set_fd_limit(static_cast<std::uint32_t>(world_.rng().between(1, 10)));
  world_.after(world_.draw(milliseconds{10}, seconds{1}), [reactor] { reactor->set_fd_limit(UINT32_MAX); });
}

void Storm::change_endpoints() {
  base::Rng& rng = world_.rng();
  const std::size_t index = rng.below(site_.groups().size());
  Group& group = site_.groups()[index];
  const std::size_t which = rng.below(group.endpoints.size());
  const auto ready = std::ranges::count_if(
      group.endpoints, [](const Endpoint& endpoint) { return endpoint.standing == Standing::ready; });
  // The last one may only go where 503 is an answer that is expected.
  const bool is_ready = group.endpoints[which].standing == Standing::ready;
  if (is_ready && ready == 1 && !climate_.excuses_all()) return;
  constexpr Standing away[] = {Standing::leaving, Standing::drain, Standing::maint, Standing::absent};
  site_.set_standing(index, which, is_ready ? away[rng.below(std::size(away))] : Standing::ready);
  if (rng.chance(500)) return site_.tell(index);
  site_.apply();
}

}  // namespace ebb::sim
