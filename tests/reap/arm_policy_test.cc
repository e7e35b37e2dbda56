#include <gmock/gmock.h>

#include "reap/policy_file.h"

namespace ebb::reap {
namespace {

using testing::HasSubstr;

TEST(ArmPolicy, IsOffUnlessItsKeyIsThere) {
  EXPECT_EQ(read_policy("act: true", "reap.yaml")->arm, std::nullopt);
  EXPECT_EQ(read_policy("arm: {}", "reap.yaml")->arm, ArmLimits{});
}

TEST(ArmPolicy, EveryKey) {
  const auto policy = read_policy(R"(
arm: {timeout: 20s, idle: 10s, interval: 2s, probes: 5, rto_max: 1500ms}
nodes: {watch: false, every: 1s}
end: {silent_nodes: true}
)",
                                  "reap.yaml");
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->arm, (ArmLimits{.user_timeout_ms = 20'000,
                                    .keepalive_idle_s = 10,
                                    .keepalive_interval_s = 2,
                                    .keepalive_probes = 5,
                                    .rto_max_ms = 1'500}));
  EXPECT_EQ(policy->nodes, (NodePolicy{.watch = false, .every = std::chrono::seconds{1}}));
  EXPECT_TRUE(policy->end.silent_nodes);
}

TEST(ArmPolicy, RefusesWhatTheKernelWouldAndWhatWouldEndTheLiving) {
  const std::pair<const char*, const char*> cases[] = {
      {"arm: {timeout: 500ms}", "expected a whole number of 1ms from 1s to 1h"},
      {"arm: {idle: 1500ms}", "expected a whole number of 1s from 1s to 1h"},
      {"arm: {probes: 128}", "expected 1 to 127"},
      {"arm: {rto_max: 3m}", "from 1s to 2m"},
      {"arm: {idle: 7s}", "there is no time for a second probe"},
      {"nodes: {every: 100ms}", "expected 200 ms or more"},
  };
  for (const auto& [text, word] : cases) {
    const auto policy = read_policy(text, "reap.yaml");
    ASSERT_FALSE(policy) << text;
    EXPECT_THAT(config::text_of(policy.error()), HasSubstr(word));
  }
}

}  // namespace
}  // namespace ebb::reap
