#include "lifecycle/hold_queue.h"

#include <gtest/gtest.h>

namespace ebb::lifecycle {
namespace {

constexpr int routes[2] = {};
constexpr const void* shop = &routes[0];
constexpr const void* api = &routes[1];

base::Handle who(std::uint32_t slot) { return {slot, 1}; }

TEST(HoldQueue, ServesOneRouteInTheOrderOfArrival) {
  HoldQueue queue;
  for (std::uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(queue.push(shop, who(i), 10));
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(queue.pop(), who(i));
  EXPECT_FALSE(queue.pop());
}

TEST(HoldQueue, ServesRoutesInTurnSoThatNoneStarves) {
  HoldQueue queue;
  for (std::uint32_t i = 0; i < 4; ++i) ASSERT_TRUE(queue.push(shop, who(i), 10));
  ASSERT_TRUE(queue.push(api, who(9), 10));
  EXPECT_EQ(queue.pop(), who(0));
  EXPECT_EQ(queue.pop(), who(9));
  EXPECT_EQ(queue.pop(), who(1));
}

TEST(HoldQueue, RefusesMoreThanItsLimit) {
  HoldQueue queue;
  EXPECT_TRUE(queue.push(shop, who(0), 1));
  EXPECT_FALSE(queue.push(api, who(1), 1));
  EXPECT_EQ(queue.size(), 1u);
}

TEST(HoldQueue, ForgetsWhoLeavesIt) {
  HoldQueue queue;
  ASSERT_TRUE(queue.push(shop, who(0), 10));
  ASSERT_TRUE(queue.push(api, who(1), 10));
  queue.remove(who(0));
  queue.remove(who(0));
  EXPECT_EQ(queue.size(), 1u);
  EXPECT_EQ(queue.pop(), who(1));
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace ebb::lifecycle
