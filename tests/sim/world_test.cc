#include "sim/world.h"

#include <gtest/gtest.h>

#include "sim/scenario.h"
#include "tests/sim/relay.h"

namespace ebb::sim {
namespace {

TEST(World, RunsEventsInTheOrderOfTheirTime) {
  World world(1);
  std::string order;
  world.after(milliseconds{3}, [&] { order += 'c'; });
  world.after(milliseconds{1}, [&] { order += 'a'; });
  world.after(milliseconds{2}, [&] {
    order += 'b';
    world.after({}, [&] { order += 'B'; });
  });
  while (world.step()) {
  }
  EXPECT_EQ(order, "abBc");
  EXPECT_EQ(world.now(), Instant{milliseconds{3}});
}

std::string order_of_ties(std::uint64_t seed) {
  World world(seed);
  std::string order;
  for (char c = 'a'; c <= 'h'; ++c) world.at(Instant{seconds{1}}, [&order, c] { order += c; });
  while (world.step()) {
  }
  return order;
}

TEST(World, BreaksTiesByTheSeedAlone) {
  EXPECT_EQ(order_of_ties(7), order_of_ties(7));
  EXPECT_NE(order_of_ties(7), order_of_ties(8));
}

TEST(World, KeepsTheFirstFailure) {
  World world(1);
  world.fail("first");
  world.fail("second");
  EXPECT_EQ(world.failure(), "first");
}

struct Trace {
  std::uint64_t hash;
  std::uint64_t steps;
  friend bool operator==(const Trace&, const Trace&) = default;
};

Trace trace_of(std::uint64_t seed, const MakeInhabitant& make) {
  Scenario scenario(seed, make);
  scenario.run();
  return {scenario.world().trace_hash(), scenario.world().steps()};
}

TEST(World, GivesTheSameTraceForTheSameSeed) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    EXPECT_EQ(trace_of(seed, make_gate), trace_of(seed, make_gate)) << "seed " << seed;
  }
  EXPECT_NE(trace_of(1, make_gate), trace_of(2, make_gate));
}

}  // namespace
}  // namespace ebb::sim
