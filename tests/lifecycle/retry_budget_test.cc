#include "lifecycle/retry_budget.h"

#include <gtest/gtest.h>

namespace ebb::lifecycle {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

std::uint64_t take_all(RetryBudget& budget, base::Instant now) {
  std::uint64_t taken = 0;
  while (budget.take(now)) taken += 1;
  return taken;
}

TEST(RetryBudget, AllowsAFewWhereThereIsHardlyAnyTraffic) {
  base::FakeClock clock;
  RetryBudget budget;
  EXPECT_EQ(take_all(budget, clock.now()), RetryBudget::always);
}

TEST(RetryBudget, AllowsAFifthOfTheRequests) {
  base::FakeClock clock;
  RetryBudget budget;
  for (int i = 0; i < 1000; ++i) budget.began(clock.now());
  EXPECT_EQ(take_all(budget, clock.now()), RetryBudget::always + 200);
}

TEST(RetryBudget, ForgetsRequestsAndRetriesAsTheWindowSlides) {
  base::FakeClock clock;
  RetryBudget budget;
  for (int i = 0; i < 1000; ++i) budget.began(clock.now());
  EXPECT_EQ(take_all(budget, clock.now()), RetryBudget::always + 200);
  clock.advance(seconds{9});
  EXPECT_FALSE(budget.take(clock.now())) << "still in the window";
  clock.advance(seconds{1});
  EXPECT_EQ(take_all(budget, clock.now()), RetryBudget::always);
}

TEST(RetryBudget, HoldsOverAnyStretchOfSteadyTraffic) {
  base::FakeClock clock;
  RetryBudget budget;
  std::uint64_t retries = 0;
  constexpr int rounds = 60;
  for (int second = 0; second < rounds; ++second, clock.advance(seconds{1})) {
    for (int i = 0; i < 100; ++i) budget.began(clock.now());
    retries += take_all(budget, clock.now());
  }
  const std::uint64_t windows = rounds / RetryBudget::slices;
  EXPECT_LE(retries, rounds * 100 / RetryBudget::share + windows * RetryBudget::always);
}

TEST(RetryBudget, StartsAnewAfterALongSilence) {
  base::FakeClock clock;
  RetryBudget budget;
  take_all(budget, clock.now());
  clock.advance(hours{100});
  EXPECT_EQ(take_all(budget, clock.now()), RetryBudget::always);
}

}  // namespace
}  // namespace ebb::lifecycle
