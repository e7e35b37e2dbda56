#include "lifecycle/slow_start.h"

#include <gtest/gtest.h>

namespace ebb::lifecycle {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(SlowStart, TheShareGrowsEvenlyOverTheWindow) {
  EXPECT_EQ(warming_share(seconds{15}, seconds{30}), 500u);
  EXPECT_EQ(warming_share(seconds{24}, seconds{30}), 800u);
  EXPECT_EQ(warming_share(milliseconds{29'999}, seconds{30}), 999u);
  std::uint32_t last = 0;
  for (int age = 0; age <= 40; ++age) {
    const std::uint32_t share = warming_share(seconds{age}, seconds{30});
    EXPECT_GE(share, last);
    last = share;
  }
}

TEST(SlowStart, ATenthIsTheLeastAndTheWeightTheMost) {
  EXPECT_EQ(warming_share(seconds{0}, seconds{30}), 100u);
  EXPECT_EQ(warming_share(seconds{2}, seconds{30}), 100u);
  EXPECT_EQ(warming_share(seconds{30}, seconds{30}), 1000u);
  EXPECT_EQ(warming_share(hours{10'000}, seconds{30}), 1000u);
}

TEST(SlowStart, AWindowOfZeroIsNone) { EXPECT_EQ(warming_share(seconds{0}, seconds{0}), 1000u); }

TEST(SlowStart, OddTimesGiveNoOddShares) {
  EXPECT_EQ(warming_share(-seconds{5}, seconds{30}), 100u);
  EXPECT_EQ(warming_share(base::Duration{0}, base::Duration{1}), 100u);
  EXPECT_EQ(warming_share(hours{12 * 365}, hours{24 * 365}), 500u);
}

TEST(SlowStart, IsSuspendedWhereItWouldStarve) {
  EXPECT_TRUE(may_warm_slowly(2, 4, 0));
  EXPECT_TRUE(may_warm_slowly(2, 3, 0));
  EXPECT_FALSE(may_warm_slowly(1, 3, 0));
  EXPECT_FALSE(may_warm_slowly(0, 1, 0));
  EXPECT_FALSE(may_warm_slowly(3, 4, 1));
}

}  // namespace
}  // namespace ebb::lifecycle
