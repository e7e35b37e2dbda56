#include "base/labels.h"

#include <gtest/gtest.h>

#include <thread>

namespace ebb::base {
namespace {

TEST(Labels, TheSameTextHasTheSameNumber) {
  Labels labels;
  const Label shop = labels.intern("shop");
  EXPECT_NE(shop, 0u);
  EXPECT_EQ(labels.intern("shop"), shop);
  EXPECT_NE(labels.intern("api"), shop);
  EXPECT_EQ(labels.text(shop), "shop");
}

TEST(Labels, NothingIsNumberZero) {
  Labels labels;
  EXPECT_EQ(labels.intern(""), 0u);
  EXPECT_EQ(labels.text(0), "");
  EXPECT_EQ(labels.text(17), "");
}

TEST(Labels, ATextStaysWhereItIsWhileOthersAreAdded) {
  Labels labels;
  const Label first = labels.intern("first");
  const std::string_view text = labels.text(first);
  for (int i = 0; i < 5000; ++i) labels.intern("label " + std::to_string(i));
  EXPECT_EQ(labels.text(first).data(), text.data());
  EXPECT_EQ(labels.text(labels.intern("label 4999")), "label 4999");
}

TEST(Labels, AnotherThreadReadsWhatIsThereWithoutWaiting) {
  Labels labels;
  const Label first = labels.intern("first");
  std::atomic<bool> done = false;
  std::thread reader([&] {
    while (!done) {
      EXPECT_EQ(labels.text(first), "first");
      (void)labels.text(4000);
    }
  });
  for (int i = 0; i < 5000; ++i) labels.intern(std::to_string(i));
  done = true;
  reader.join();
}

}  // namespace
}  // namespace ebb::base
