#include "lifecycle/bond.h"

#include <gtest/gtest.h>

namespace ebb::lifecycle {
namespace {

constexpr BondTerms moves{};
constexpr BondTerms keeps{.kept_while_draining = true};
constexpr BondTerms overdue{.kept_while_draining = true, .drain_overdue = true};

TEST(Bond, HoldsWhileTheEndpointIsWell) {
  EXPECT_EQ(bond({}, moves), Bond::holds);
  EXPECT_EQ(bond({.health = Health::warming}, moves), Bond::holds);
}

TEST(Bond, YieldsOrHoldsWhileTheEndpointDrains) {
  for (const EndpointFactsOfLife facts :
       {EndpointFactsOfLife{.membership = Membership::leaving}, EndpointFactsOfLife{.wish = Wish::drain},
        EndpointFactsOfLife{.membership = Membership::leaving, .wish = Wish::drain}}) {
    EXPECT_EQ(bond(facts, moves), Bond::yields);
    EXPECT_EQ(bond(facts, keeps), Bond::holds);
    EXPECT_EQ(bond(facts, overdue), Bond::broken);
    EXPECT_EQ(standing_for_bound(facts), Standing::leaving);
  }
}

TEST(Bond, IsBrokenByMaintenanceRemovalAndDeath) {
  for (const Membership membership : {Membership::present, Membership::leaving}) {
    EXPECT_EQ(bond({.membership = membership, .wish = Wish::maint}, keeps), Bond::broken);
    EXPECT_EQ(bond({.membership = membership, .health = Health::down}, keeps), Bond::broken);
  }
  EXPECT_EQ(bond({.membership = Membership::gone}, keeps), Bond::broken);
}

TEST(Bond, YieldsToAnyThatIsWellWhileTheEndpointIsSuspect) {
  for (const Wish wish : {Wish::ready, Wish::drain}) {
    const EndpointFactsOfLife facts{.wish = wish, .health = Health::suspect};
    EXPECT_EQ(bond(facts, keeps), Bond::yields);
    EXPECT_EQ(standing_for_bound(facts), Standing::doubtful);
  }
}

}  // namespace
}  // namespace ebb::lifecycle
