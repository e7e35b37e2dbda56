// What the laboratory (lab/) plays with real processes, here drawn from a seed: endpoints die, lie, leave and come back
// under a steady load. Everything else is well meanwhile, so that little is excused: only what no router could save.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "sim/ledger.h"
#include "sim/population.h"
#include "sim/site.h"
#include "sim/world.h"

namespace ebb::sim {

inline constexpr Duration scene_time = seconds{8};

struct Stage {
  World& world;
  Site& site;
  Ledger& ledger;
  Instant end;                            // of the scene
  std::function<void()> leak{};           // one more connection that its client never lets go of
  std::function<std::size_t()> leaked{};  // that the router holds for it
};

struct Scene {
  const char* name;
  std::uint32_t endpoints_min;
  std::uint32_t endpoints_max;
  void (*play)(Stage& stage);
  const Pace* pace = nullptr;
  Duration time = scene_time;
};

std::span<const Scene> deaths();    // one of several falls ill, and nobody tells
std::span<const Scene> rollouts();  // processes are replaced in order, or disorder
std::span<const Scene> changes();   // of the list, of the load, on ordinary days
std::span<const Scene> slowness();  // nothing is wrong, and much is slow

const Scene& draw_scene(base::Rng& rng);
const Scene* find_scene(std::string_view name);  // null: there is none

}  // namespace ebb::sim
