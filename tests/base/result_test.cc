#include "base/result.h"

#include <gtest/gtest.h>

namespace ebb::base {
namespace {

Result<int> halved(int value) {
  if (value % 2 != 0) return fail(Cause::client_bad_request, "halve", 22);
  return value / 2;
}

Result<int> quartered(int value) {
  const int half = EBB_TRY(halved(value));
  return halved(half);
}

TEST(Results, PassTheFirstErrorOn) {
  EXPECT_EQ(quartered(12).value(), 3);
  const auto refused = quartered(7);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().cause, Cause::client_bad_request);
  EXPECT_EQ(refused.error().fault(), Side::client);
  EXPECT_EQ(refused.error().sys, 22);
}

}  // namespace
}  // namespace ebb::base
