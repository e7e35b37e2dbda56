#include "base/literal_address.h"

#include <gtest/gtest.h>

namespace ebb::base {
namespace {

TEST(LiteralAddress, IsReadWithAndWithoutBrackets) {
  EXPECT_EQ(literal_address("10.1.0.5"), "10.1.0.5");
  EXPECT_EQ(literal_address("FD00:0::1"), "fd00::1");
  EXPECT_EQ(literal_address("[fd00::1]"), "fd00::1");
  EXPECT_EQ(literal_address("::"), "::");
  for (const char* other : {"", "a.test", "10.1.0", "10.1.0.256", "10.1.0.5:80", "[10.1.0.5]", "[fd00::1]:80",
                            "[fd00::1", "fd00::1]", "fd00::1%eth0", "::1::"}) {
    EXPECT_EQ(literal_address(other), "") << other;
  }
}

TEST(LiteralAddress, GetsBracketsWhereAPortMayFollow) {
  EXPECT_EQ(as_authority("fd00:0::1"), "[fd00::1]");
  EXPECT_EQ(as_authority("[fd00::1]"), "[fd00::1]");
  EXPECT_EQ(as_authority("10.1.0.5"), "10.1.0.5");
  EXPECT_EQ(as_authority("api.test"), "api.test");
}

}  // namespace
}  // namespace ebb::base
