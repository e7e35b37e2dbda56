#include "base/stable_hash.h"

#include <gtest/gtest.h>

namespace ebb::base {
namespace {

// Cookies and hashes of replicas that run different versions rest on these values.
TEST(StableHash, NeverChanges) {
  EXPECT_EQ(StableHash().value(), 0xcbf29ce484222325u);
  EXPECT_EQ(StableHash().add("api").add("a").add("10.1.0.5:8080").value(), 0x9cc6fb083d2528c5u);
}

TEST(StableHash, KnowsWhereOneTextEndsAndTheNextBegins) {
  EXPECT_NE(StableHash().add("ab").add("c").value(), StableHash().add("a").add("bc").value());
}

}  // namespace
}  // namespace ebb::base
