#include "gate/hops.h"

#include <gtest/gtest.h>

#include <string>

namespace ebb::gate {
namespace {

bool passed(const char* value) {
  wire::Fields fields;
  fields.add({"Via", value, wire::FieldId::via});
  return has_passed(fields, "edge-1");
}

TEST(Hops, ARequestThatHasPassedUnderOurNameIsKnown) {
  EXPECT_TRUE(passed("1.1 edge-1"));
  EXPECT_TRUE(passed("1.0 cdn, HTTP/2 EDGE-1 (ebbgate), 1.1 other"));
  EXPECT_TRUE(passed("1.1  edge-1"));
  EXPECT_TRUE(passed("1.1 edge-1(x)"));
}

TEST(Hops, OtherNamesAreNotOurs) {
  for (const char* value : {"", ",", "edge-1", "1.1 edge-10", "1.1 edge", "edge-1 other", "1.1 other (edge-1)"}) {
    EXPECT_FALSE(passed(value)) << value;
  }
}

ForwardsLeft left(wire::Method method, std::initializer_list<const char*> values) {
  wire::RequestHead head;
  head.method = method;
  for (const char* value : values) head.fields.add({"Max-Forwards", value, wire::FieldId::max_forwards});
  return forwards_left(head);
}

TEST(Hops, AreCountedForOptionsAndTraceOnly) {
  EXPECT_EQ(left(wire::Method::options, {"0"}).count, 0u);
  EXPECT_EQ(left(wire::Method::trace, {"10"}).count, 10u);
  EXPECT_EQ(left(wire::Method::options, {}).count, std::nullopt);
  EXPECT_EQ(left(wire::Method::get, {"0"}).count, std::nullopt);
  EXPECT_TRUE(left(wire::Method::get, {"x"}).valid);
}

TEST(Hops, AreNotGuessedFromWhatIsNoNumber) {
  for (const char* value : {"", "-1", "1x", "0, 1", "99999999999999999999999"}) {
    EXPECT_FALSE(left(wire::Method::options, {value}).valid) << value;
  }
  EXPECT_FALSE(left(wire::Method::trace, {"1", "1"}).valid);
}

}  // namespace
}  // namespace ebb::gate
