#include "lifecycle/idle_budget.h"

#include <gtest/gtest.h>

namespace ebb::lifecycle {
namespace {

using std::chrono::seconds;

constexpr IdleLimits limits{.always = 10, .most = 100};

TEST(IdleBudget, IsTheFixedNumberWhileFewAreAtWork) {
  base::FakeClock clock;
  IdleBudget budget;
  EXPECT_EQ(budget.allowed(clock.now(), limits), 10u);
  budget.at_work(clock.now(), 7);
  EXPECT_EQ(budget.allowed(clock.now(), limits), 10u);
}

TEST(IdleBudget, FollowsWhatWasAtWorkTogether) {
  base::FakeClock clock;
  IdleBudget budget;
  for (const std::uint32_t connections : {20u, 50u, 30u}) budget.at_work(clock.now(), connections);
  EXPECT_EQ(budget.allowed(clock.now(), limits), 50u);
}

TEST(IdleBudget, NeverExceedsTheMost) {
  base::FakeClock clock;
  IdleBudget budget;
  budget.at_work(clock.now(), 5000);
  EXPECT_EQ(budget.allowed(clock.now(), limits), 100u);
  EXPECT_EQ(budget.allowed(clock.now(), {.always = 300, .most = 200}), 200u);
}

TEST(IdleBudget, RemembersForOneToTwoWindows) {
  base::FakeClock clock;
  IdleBudget budget;
  budget.at_work(clock.now(), 80);
  clock.advance(IdleBudget::window - seconds{1});
  budget.at_work(clock.now(), 40);
  clock.advance(seconds{1});
  EXPECT_EQ(budget.allowed(clock.now(), limits), 80u);
  budget.at_work(clock.now(), 20);
  clock.advance(IdleBudget::window);
  EXPECT_EQ(budget.allowed(clock.now(), limits), 20u);
  clock.advance(IdleBudget::window);
  EXPECT_EQ(budget.allowed(clock.now(), limits), 10u);
}

TEST(IdleBudget, ForgetsAllAfterALongPause) {
  base::FakeClock clock;
  IdleBudget budget;
  budget.at_work(clock.now(), 80);
  clock.advance(seconds{3600});
  EXPECT_EQ(budget.allowed(clock.now(), limits), 10u);
  budget.at_work(clock.now(), 60);
  clock.advance(IdleBudget::window);
  EXPECT_EQ(budget.allowed(clock.now(), limits), 60u);
}

}  // namespace
}  // namespace ebb::lifecycle
