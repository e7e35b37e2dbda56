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
    Scenario scenario(seed, *GetParam(), scene_time, make_gate);
    EXPECT_TRUE(scenario.run()) << "seed " << seed << ": " << scenario.world().failure();
    answered += scenario.ledger().count(Outcome::answered);
  }
  EXPECT_GT(answered, 100u);
}

std::vector<const Scene*> all_scenes() {
  std::vector<const Scene*> all;
  for (const std::span<const Scene> kind : {deaths(), rollouts(), changes()})
    for (const Scene& scene : kind) all.push_back(&scene);
  return all;
}

std::string name_of(const testing::TestParamInfo<const Scene*>& info) {
  std::string name = info.param->name;
  std::erase_if(name, [](char c) { return c < 'A' || c > 'z'; });
  return name;
}

INSTANTIATE_TEST_SUITE_P(Each, Scenes, testing::ValuesIn(all_scenes()), name_of);

// Two connections a second that are used once and never closed. The scene looks at them each time.
TEST(LeakyClient, IsHeldToItsShareForTenMinutes) {
  Scenario scenario(1, *find_scene("leaky client"), std::chrono::minutes{10}, make_gate);
  EXPECT_TRUE(scenario.run()) << scenario.world().failure();
  EXPECT_GE(scenario.ledger().count(Outcome::answered), 1200u);
}

}  // namespace
}  // namespace ebb::sim
