#include "base/rng.h"

#include <gtest/gtest.h>

#include <set>

namespace ebb::base {
namespace {

TEST(Rng, RepeatsItselfFromTheSameSeed) {
  Rng one(42), two(42), other(43);
  EXPECT_EQ(one.next(), two.next());
  EXPECT_NE(one.next(), other.next());
}

TEST(Rng, StaysWithinBoundsAndReachesThem) {
  Rng rng(1);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(rng.below(1), 0u);
    const std::uint64_t value = rng.between(10, 15);
    ASSERT_GE(value, 10u);
    ASSERT_LE(value, 15u);
    seen.insert(value);
  }
  EXPECT_EQ(seen.size(), 6u);
}

TEST(Rng, SpreadsEvenly) {
  Rng rng(7);
  int counts[16] = {};
  for (int i = 0; i < 160'000; ++i) counts[rng.below(16)] += 1;
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
  int heads = 0;
  for (int i = 0; i < 100'000; ++i) heads += rng.chance(250) ? 1 : 0;
  EXPECT_NEAR(heads, 25'000, 700);
  EXPECT_FALSE(rng.chance(0));
  EXPECT_TRUE(rng.chance(1000));
}

}  // namespace
}  // namespace ebb::base
