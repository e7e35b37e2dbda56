#include "lifecycle/endpoint.h"

#include <gtest/gtest.h>

namespace ebb::lifecycle {
namespace {

using base::Cause;

TEST(Endpoint, StandsBestWhenPresentWantedAndWell) {
  EXPECT_EQ(standing({}), Standing::chosen);
  EXPECT_EQ(standing({.health = Health::warming}), Standing::chosen);
}

TEST(Endpoint, ServesWhileLeavingOnlyAfterTheOthers) {
  EXPECT_EQ(standing({.membership = Membership::leaving}), Standing::leaving);
  EXPECT_LT(standing({}), standing({.membership = Membership::leaving}));
}

TEST(Endpoint, IsUsedInDoubtRatherThanNotAtAll) {
  EXPECT_EQ(standing({.health = Health::suspect}), Standing::doubtful);
  EXPECT_EQ(standing({.health = Health::down, .why = Cause::backend_bad_response}), Standing::doubtful);
  EXPECT_LT(standing({.membership = Membership::leaving}), standing({.health = Health::suspect}));
}

TEST(Endpoint, GetsNothingWhenItCannotBeReachedOrIsNotWanted) {
  for (const Cause why :
       {Cause::backend_refused, Cause::backend_unreachable, Cause::backend_connect_timeout, Cause::backend_dead}) {
    EXPECT_EQ(standing({.health = Health::down, .why = why}), Standing::unavailable);
  }
  EXPECT_EQ(standing({.wish = Wish::drain}), Standing::unavailable);
  EXPECT_EQ(standing({.wish = Wish::maint}), Standing::unavailable);
  EXPECT_EQ(standing({.membership = Membership::gone}), Standing::unavailable);
}

TEST(Endpoint, DrainsForEveryReasonToGetNoMoreWorkButIllness) {
  EXPECT_FALSE(draining(Membership::present, Wish::ready));
  EXPECT_TRUE(draining(Membership::leaving, Wish::ready));
  EXPECT_TRUE(draining(Membership::gone, Wish::ready));
  EXPECT_TRUE(draining(Membership::present, Wish::drain));
  EXPECT_TRUE(draining(Membership::present, Wish::maint));
}

}  // namespace
}  // namespace ebb::lifecycle
