// The laboratory's scenes, each from a few seeds; ebbsim plays them from many.
#include "sim/scenes.h"

#include <gtest/gtest.h>

#include "sim/scenario.h"

namespace ebb::sim {
namespace {

class Scenes : public testing::TestWithParam<const Scene*> {};

TEST_P(Scenes, LoseNothingThatCanBeSaved) {
  std::uint64_t answered = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Scenario scenario(seed, *GetParam(), GetParam()->time, make_gate);
    EXPECT_TRUE(scenario.run()) << "seed " << seed << ": " << scenario.world().failure();
    answered += scenario.ledger().count(Outcome::answered);
  }
  EXPECT_GT(answered, 100u);
}

std::vector<const Scene*> all_scenes() {
  std::vector<const Scene*> all;
  for (const std::span<const Scene> kind : {deaths(), rollouts(), changes(), slowness()})
    for (const Scene& scene : kind) all.push_back(&scene);
  return all;
}

std::string name_of(const testing::TestParamInfo<const Scene*>& info) {
  std::string name = info.param->name;
  std::erase_if(name, [](char c) { return c < 'A' || c > 'z'; });
  return name;
}

INSTANTIATE_TEST_SUITE_P(Each, Scenes, testing::ValuesIn(all_scenes()), name_of);

// Those that are slow by nature; what waits behind them in a serial endpoint may go elsewhere.
TEST(Slowness, HardlyEverRepeatsAnything) {
  std::uint64_t slow = 0, repeated = 0;
  for (const Scene& scene : slowness()) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Scenario scenario(seed, scene, scene.time, make_gate);
      ASSERT_TRUE(scenario.run()) << scene.name << " seed " << seed << ": " << scenario.world().failure();
      for (const Exchange& exchange : scenario.ledger().all()) {
        if (!exchange.plan.slow() || !exchange.idempotent) continue;
        slow += 1;
        repeated += exchange.executions > exchange.asked ? 1 : 0;
      }
    }
  }
  EXPECT_GT(slow, 1000u);
  EXPECT_LE(repeated, slow / 100) << "of " << slow;
}

// Two connections a second that are used once and never closed. The scene looks at them each time.
TEST(LeakyClient, IsHeldToItsShareForTenMinutes) {
  Scenario scenario(1, *find_scene("leaky client"), std::chrono::minutes{10}, make_gate);
  EXPECT_TRUE(scenario.run()) << scenario.world().failure();
  EXPECT_GE(scenario.ledger().count(Outcome::answered), 1200u);
}

}  // namespace
}  // namespace ebb::sim
