#include "base/labels.h"

#include <gtest/gtest.h>

#include <string>

namespace ebb::base {
namespace {

TEST(Labels, GiveOneNumberToOneText) {
  Labels labels;
  EXPECT_EQ(labels.intern(""), 0u);
  const Label shop = labels.intern("shop");
  const std::string_view text = labels.text(shop);
  for (int i = 0; i < 1000; ++i) labels.intern("backend-" + std::to_string(i));
  EXPECT_EQ(labels.intern("shop"), shop);
  EXPECT_EQ(text, "shop");
  EXPECT_EQ(labels.text(0), "");
  EXPECT_EQ(labels.text(999'999), "");
}

}  // namespace
}  // namespace ebb::base
