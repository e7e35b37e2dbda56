// Processes that are replaced: rolling updates in all orders of telling and ending, and their harder relatives.
//
// A process that gets SIGTERM ends what it has begun. Nothing may be lost but what it, or a killed one, takes with it
// unread or half answered, and that is named (Ledger::swallowed).
#include <algorithm>

#include "sim/scenes.h"

namespace ebb::sim {

namespace {

constexpr Duration pause = milliseconds{1200};  // between two replacements
constexpr Duration serves_on = milliseconds{500};

enum class End : std::uint8_t { terminate, kill, vanish };

void end(const Stage& stage, std::uint32_t group, Backend& process, End how) {
  switch (how) {
    case End::terminate: return process.terminate();
    case End::kill: return process.kill();
    case End::vanish:
      stage.ledger.begin_trouble(group, "its address is a black hole");
      process.lose_way(Way::swallows);
      return process.kill();
  }
}

// The old one ends, and the router is told of it and of its successor, `told_after` later, or before if negative. It
// leaves the list a while after its end.
void replace(const Stage& stage, std::uint32_t group, std::size_t old, Duration told_after, End how) {
  Site& site = stage.site;
  const std::size_t fresh = site.spawn(group);
  const Duration ends_at = std::max(Duration{}, -told_after);
  const Duration told_at = std::max(Duration{}, told_after);
  stage.world.after(told_at, [=, &site] {
    site.set_standing(group, fresh, Standing::ready);
    site.set_standing(group, old, Standing::leaving);
    site.tell(group);
  });
  stage.world.after(ends_at, [=, &site] { end(stage, group, *site.groups()[group].endpoints[old].process, how); });
  stage.world.after(std::max(told_at, ends_at) + serves_on, [=, &site] {
    site.set_standing(group, old, Standing::absent);
    site.tell(group);
    if (how == End::vanish) stage.ledger.end_trouble(group);
  });
}

void replace_all(Stage& stage, Duration told_after, End how) {
  base::Rng& rng = stage.world.rng();
  const auto group = static_cast<std::uint32_t>(rng.below(stage.site.groups().size()));
  const std::size_t count = stage.site.groups()[group].endpoints.size();
  for (std::size_t i = 0; i < count; ++i) {
    stage.world.after(seconds{1} + static_cast<int>(i) * pause,
                      [=, &stage] { replace(stage, group, i, told_after, how); });
  }
}

void rolling_update(Stage& stage) {
  constexpr Duration orders[] = {-seconds{1}, {}, milliseconds{500}, seconds{2}};
  replace_all(stage, orders[stage.world.rng().below(std::size(orders))], End::terminate);
}

void one_replica(Stage& stage) { rolling_update(stage); }

void crash(Stage& stage) { replace_all(stage, milliseconds{500}, End::kill); }

void black_hole(Stage& stage) { replace_all(stage, seconds{2}, End::vanish); }

// All end, and only later others begin.
void begin_anew(Stage& stage, Standing meanwhile, Duration nothing) {
  Site& site = stage.site;
  const auto group = static_cast<std::uint32_t>(stage.world.rng().below(site.groups().size()));
  const std::size_t count = site.groups()[group].endpoints.size();
  stage.world.after(seconds{1}, [=, &site] {
    for (std::size_t i = 0; i < count; ++i) site.set_standing(group, i, meanwhile);
    site.tell(group);
    for (std::size_t i = 0; i < count; ++i) site.groups()[group].endpoints[i].process->terminate();
  });
  stage.world.after(seconds{1} + nothing, [=, &site] {
    for (std::size_t i = 0; i < count; ++i) site.set_standing(group, site.spawn(group), Standing::ready);
    site.tell(group);
  });
  stage.world.after(seconds{2} + nothing, [=, &site] {
    for (std::size_t i = 0; i < count; ++i) site.set_standing(group, i, Standing::absent);
    site.tell(group);
  });
}

void recreate(Stage& stage) { begin_anew(stage, Standing::leaving, milliseconds{800}); }

void scale_to_zero(Stage& stage) {
  begin_anew(stage, Standing::absent, stage.world.draw(milliseconds{500}, seconds{3}));
}

constexpr Scene scenes[] = {
    {"rolling update", 2, 4, rolling_update}, {"one replica", 1, 1, one_replica}, {"recreate", 1, 3, recreate},
    {"scale to zero", 1, 3, scale_to_zero},   {"black hole", 2, 4, black_hole},   {"crash", 2, 4, crash},
};

}  // namespace

std::span<const Scene> rollouts() { return scenes; }

}  // namespace ebb::sim
