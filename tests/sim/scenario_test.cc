// A simulation that passes proves nothing about what it never did: some dozens of seeds must reach each kind of end.
#include "sim/scenario.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace ebb::sim {
namespace {

TEST(Scenario, ReachesEveryKindOfEndAndStrike) {
  std::set<Outcome> outcomes;
  std::set<Strike> strikes;
  std::set<int> statuses;
  std::set<std::string> causes;
  std::uint64_t spliced = 0, tunnels = 0, second_tries = 0, refusals = 0, asked_again = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Scenario scenario(seed, make_gate);
    ASSERT_TRUE(scenario.run()) << "seed " << seed << ": " << scenario.world().failure();
    spliced += scenario.spliced_bytes();
    for (const Exchange& exchange : scenario.ledger().all()) {
      outcomes.insert(exchange.outcome);
      if (exchange.attempts > 0) strikes.insert(exchange.plan.strike);
      statuses.insert(exchange.status);
      causes.insert(exchange.cause);
      if (exchange.upgrade && exchange.outcome == Outcome::answered) tunnels += 1;
      refusals += exchange.refusals;
      asked_again += exchange.asked_again;
      if (exchange.attempts > 1 && exchange.outcome == Outcome::answered) second_tries += 1;
    }
  }
  EXPECT_EQ(outcomes, (std::set{Outcome::answered, Outcome::refused, Outcome::broken, Outcome::abandoned}));
  EXPECT_EQ(strikes.size(), 9u);
  for (const int status : {101, 200, 204, 304, 400, 404, 413, 502, 503, 504})
    EXPECT_TRUE(statuses.contains(status)) << status;
  for (const char* cause : {"backend_dead", "backend_response_timeout", "queue_full"})
    EXPECT_TRUE(causes.contains(cause)) << cause;
  EXPECT_FALSE(causes.contains("backend_silent")) << "silence ends nothing";
  EXPECT_GT(spliced, 0u);
  EXPECT_GT(tunnels, 0u);
  EXPECT_GT(second_tries, 0u);
  EXPECT_GT(refusals, 0u) << "REFUSED_STREAM of endpoints";
  EXPECT_GT(asked_again, 0u) << "the router's own, or its GOAWAY";
}

}  // namespace
}  // namespace ebb::sim
