#include "base/cause.h"

#include <gtest/gtest.h>

#include <set>

namespace ebb::base {
namespace {

TEST(Causes, HaveDistinctNamesForLabels) {
  std::set<std::string_view> names;
  for (const CauseFacts& facts : cause_table) {
    EXPECT_TRUE(names.insert(facts.name).second) << facts.name;
    EXPECT_EQ(facts.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos) << facts.name;
  }
  EXPECT_EQ(names.size(), cause_count);
}

TEST(Causes, AreFoundByTheirNumber) {
  EXPECT_EQ(name(Cause::completed), "completed");
  EXPECT_EQ(name(Cause::internal), "internal");
  EXPECT_EQ(static_cast<std::size_t>(Cause::internal), cause_count - 1);
}

TEST(Causes, BlameTheSideInTheirStatus) {
  for (const CauseFacts& facts : cause_table) {
    EXPECT_FALSE(facts.words.empty()) << facts.name;
    if (facts.status == 0) continue;
    EXPECT_GE(facts.status, 400) << facts.name;
    EXPECT_LT(facts.status, 600) << facts.name;
    EXPECT_EQ(facts.status < 500, facts.fault == Side::client && facts.status != 501 && facts.status != 505)
        << facts.name;
    EXPECT_NE(facts.fault, Side::none) << facts.name << ": an error status is somebody's fault";
  }
}

TEST(Sides, HaveNames) {
  EXPECT_EQ(name(Side::none), "none");
  EXPECT_EQ(name(Side::client), "client");
  EXPECT_EQ(name(Side::backend), "backend");
  EXPECT_EQ(name(Side::self), "self");
}

}  // namespace
}  // namespace ebb::base
