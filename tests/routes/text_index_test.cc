#include "routes/text_index.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/rng.h"

namespace ebb::routes {
namespace {

TEST(TextIndex, KeepsTheFirstValueOfAKey) {
  TextIndex<int> index;
  EXPECT_TRUE(index.empty());
  EXPECT_EQ(index.find(0, ""), nullptr);
  EXPECT_TRUE(index.add(0, "a", 1).fresh);
  EXPECT_FALSE(index.add(0, "a", 2).fresh);
  EXPECT_EQ(index.add(0, "a", 3).value, 1);
  EXPECT_EQ(*index.find(0, "a"), 1);
}

TEST(TextIndex, TellsScopesAndTheEmptyTextApart) {
  TextIndex<int> index;
  index.add(0, "", 1);
  index.add(1, "", 2);
  index.add(1, std::string_view("\0", 1), 3);
  EXPECT_EQ(*index.find(0, ""), 1);
  EXPECT_EQ(*index.find(1, ""), 2);
  EXPECT_EQ(*index.find(1, std::string_view("\0", 1)), 3);
  EXPECT_EQ(index.find(2, ""), nullptr);
}

TEST(TextIndex, AgreesWithAMap) {
  base::Rng rng(1);
  TextIndex<std::uint64_t> index;
  std::map<std::pair<std::uint32_t, std::string>, std::uint64_t> map;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const auto scope = static_cast<std::uint32_t>(rng.below(4));
    const std::string text = std::to_string(rng.below(5'000));
    ASSERT_EQ(index.add(scope, text, i).fresh, map.emplace(std::pair(scope, text), i).second);
    const std::string other = std::to_string(rng.below(10'000));
    const auto expected = map.find({scope, other});
    const std::uint64_t* found = index.find(scope, other);
    ASSERT_EQ(found != nullptr, expected != map.end());
    if (found != nullptr) ASSERT_EQ(*found, expected->second);
  }
}

}  // namespace
}  // namespace ebb::routes
