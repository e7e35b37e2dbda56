#include "lifecycle/active_check.h"

#include <gtest/gtest.h>

namespace ebb::lifecycle {
namespace {

using News = ActiveCheck::News;
using State = CheckLife::State;
using std::chrono::milliseconds;
using std::chrono::seconds;

class ActiveCheckTest : public testing::Test {
 protected:
  News pass() { return check_.passed(plan_); }
  News fail() { return check_.failed(plan_); }

  base::FakeClock clock_;
  base::Rng random_{7};
  CheckPlan plan_{.every = seconds{2}, .fall = 3, .rise = 2};
  ActiveCheck check_;
};

TEST_F(ActiveCheckTest, OnlyAsManyFailuresInARowAsAskedForCount) {
  EXPECT_EQ(fail(), News::none);
  EXPECT_EQ(fail(), News::none);
  EXPECT_EQ(check_.state(), State::slipping);
  EXPECT_EQ(pass(), News::none);
  EXPECT_EQ(check_.state(), State::good);
  EXPECT_EQ(fail(), News::none);
  EXPECT_EQ(fail(), News::none);
  EXPECT_FALSE(check_.failing());
  EXPECT_EQ(fail(), News::fell);
  EXPECT_TRUE(check_.failing());
  EXPECT_EQ(check_.in_a_row(), 3u);
  EXPECT_EQ(fail(), News::none) << "told once";
}

TEST_F(ActiveCheckTest, OnlyAsManySuccessesInARowAsAskedForBringItBack) {
  for (int i = 0; i < 3; ++i) fail();
  EXPECT_EQ(pass(), News::none);
  EXPECT_EQ(check_.state(), State::mending);
  EXPECT_EQ(fail(), News::none);
  EXPECT_EQ(check_.state(), State::bad);
  EXPECT_EQ(pass(), News::none);
  EXPECT_EQ(pass(), News::rose);
  EXPECT_EQ(check_.state(), State::good);
  EXPECT_EQ(pass(), News::none);
}

TEST_F(ActiveCheckTest, OneMayBeEnough) {
  plan_ = {.fall = 1, .rise = 1};
  EXPECT_EQ(fail(), News::fell);
  EXPECT_EQ(pass(), News::rose);
}

TEST_F(ActiveCheckTest, ANewPlanCountsWhatTheOldOneHasCounted) {
  EXPECT_EQ(fail(), News::none);
  plan_.fall = 2;
  EXPECT_EQ(fail(), News::fell);
}

TEST_F(ActiveCheckTest, TheFirstIsSpreadOverTheInterval) {
  base::Instant earliest = base::Instant::max();
  base::Instant latest{};
  for (int i = 0; i < 1000; ++i) {
    const base::Instant at = ActiveCheck().first_at(clock_.now(), plan_, random_);
    earliest = std::min(earliest, at);
    latest = std::max(latest, at);
  }
  EXPECT_GE(earliest, clock_.now());
  EXPECT_LE(latest, clock_.now() + plan_.every);
  EXPECT_LT(earliest, clock_.now() + plan_.every / 10);
  EXPECT_GT(latest, clock_.now() + plan_.every * 9 / 10);
}

TEST_F(ActiveCheckTest, TheNextComesAnIntervalAfterTheLastBeganAndNeverLater) {
  bool differ = false;
  const base::Instant began = clock_.now();
  check_.began(began);
  clock_.advance(milliseconds{300});
  const base::Instant some = check_.next_at(clock_.now(), plan_, random_);
  for (int i = 0; i < 1000; ++i) {
    const base::Instant at = check_.next_at(clock_.now(), plan_, random_);
    EXPECT_GE(at, began + plan_.every * 9 / 10);
    EXPECT_LE(at, began + plan_.every);
    differ = differ || at != some;
  }
  EXPECT_TRUE(differ);
}

TEST_F(ActiveCheckTest, OneThatTookLongerThanTheIntervalIsFollowedAtOnce) {
  check_.began(clock_.now());
  clock_.advance(seconds{5});
  EXPECT_EQ(check_.next_at(clock_.now(), plan_, random_), clock_.now());
  EXPECT_EQ(check_.taken(clock_.now()), seconds{5});
}

}  // namespace
}  // namespace ebb::lifecycle
