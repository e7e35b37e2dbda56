// Ordinary days: lists that change all the time, endpoints that close idle connections, clients that leak some.
//
// Nothing may be lost, whatever its method; only where FINs are lost, a request that cannot be repeated may be.
#include <algorithm>

#include "sim/scenes.h"

namespace ebb::sim {

namespace {

template <class Step>
void repeat(Stage& stage, Duration every, Step&& step) {
  for (Instant at = stage.world.now() + seconds{1}; at < stage.end; at += stage.world.draw(every / 2, every * 3 / 2))
    stage.world.at(at, step);
}

// Leaves and returns in the middle of its drain, and serves all the time.
void flapping(Stage& stage) {
  Site& site = stage.site;
  repeat(stage, milliseconds{300}, [&stage, &site] {
    base::Rng& rng = stage.world.rng();
    const std::size_t group = rng.below(site.groups().size());
    const Standing standing = site.groups()[group].endpoints.front().standing;
    constexpr Standing away[] = {Standing::leaving, Standing::leaving, Standing::absent};
    const Standing next = standing == Standing::ready ? away[rng.below(std::size(away))] : Standing::ready;
    site.set_standing(group, 0, next);
    site.tell(group);
  });
}

// One stays ready; all others are switched about, by lists and by whole configurations.
void churn(Stage& stage) {
  Site& site = stage.site;
  repeat(stage, milliseconds{20}, [&stage, &site] {
    base::Rng& rng = stage.world.rng();
    const std::size_t index = rng.below(site.groups().size());
    const std::size_t count = site.groups()[index].endpoints.size();
    constexpr Standing any[] = {Standing::ready, Standing::ready, Standing::leaving,
                                Standing::drain, Standing::maint, Standing::absent};
    site.set_standing(index, rng.between(1, count - 1), any[rng.below(std::size(any))]);
    if (rng.chance(900)) return site.tell(index);
    site.apply();
  });
}

// Each connection is closed when it was idle for about as long as the next request takes to come.
void close_idle(Stage& stage, Way way) {
  for (Group& group : stage.site.groups()) {
    group.habits.idle_close_min = stage.world.draw(milliseconds{5}, milliseconds{50});
    group.habits.idle_close_max = group.habits.idle_close_min + stage.world.draw(milliseconds{1}, milliseconds{100});
    for (Endpoint& endpoint : group.endpoints) {
      endpoint.process->set_habits(group.habits);
      if (way != Way::open) endpoint.process->lose_way(way);
    }
  }
}

void keep_alive_race(Stage& stage) { close_idle(stage, Way::open); }

void lost_fins(Stage& stage) {
  close_idle(stage, Way::loses_fins);
  for (std::uint32_t i = 0; i < stage.site.groups().size(); ++i) stage.ledger.begin_trouble(i, "its FINs are lost");
}

// New ones join; with slow start in some runs.
void growing(Stage& stage) {
  Site& site = stage.site;
  repeat(stage, seconds{2}, [&stage, &site] {
    const std::size_t group = stage.world.rng().below(site.groups().size());
    site.set_standing(group, site.spawn(group), Standing::ready);
    site.tell(group);
  });
}

constexpr Duration leak_period = milliseconds{500};

// What is held for it when nothing has happened for a while is exactly what may be.
void leak_again(Stage& stage) {
  const routes::Limits& limits = stage.site.settings().limits;
  const std::size_t most = std::max<std::size_t>(limits.idle_per_client, stage.site.workers().size());
  if (const std::size_t held = stage.leaked(); held > most)
    stage.world.fail("a leaky client holds " + std::to_string(held) + " connections of " + std::to_string(most));
  if (stage.world.now() >= stage.end) return;
  stage.leak();
  stage.world.after(leak_period, [&stage] { leak_again(stage); });
}

constexpr Scene scenes[] = {
    {"flapping", 2, 4, flapping},   {"churn", 2, 4, churn},     {"keep-alive race", 1, 3, keep_alive_race},
    {"lost FINs", 1, 3, lost_fins}, {"growing", 1, 2, growing}, {"leaky client", 1, 2, leak_again},
};

}  // namespace

std::span<const Scene> changes() { return scenes; }

const Scene& draw_scene(base::Rng& rng) {
  const std::span<const Scene> kinds[] = {deaths(), rollouts(), changes(), slowness()};
  const std::span<const Scene> kind = kinds[rng.below(std::size(kinds))];
  return kind[rng.below(kind.size())];
}

const Scene* find_scene(std::string_view name) {
  for (const std::span<const Scene> kind : {deaths(), rollouts(), changes(), slowness()})
    for (const Scene& scene : kind)
      if (scene.name == name) return &scene;
  return nullptr;
}

}  // namespace ebb::sim
