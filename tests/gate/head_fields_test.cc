#include "gate/head_fields.h"

#include <gtest/gtest.h>

namespace ebb::gate {
namespace {

TEST(HeadFields, AreFoundInAnyCaseAndByTheirNumber) {
  wire::Fields fields;
  fields.add({"X-Forwarded-For", "a"});
  fields.add({"Host", "b"});
  fields.add({"x-forwarded-for", "c"});
  const HeadFields source(fields);
  EXPECT_EQ(source.line("x-forwarded-for", 0), "a");
  EXPECT_EQ(source.line("x-forwarded-for", 1), "c");
  EXPECT_EQ(source.line("x-forwarded-for", 2), std::nullopt);
  EXPECT_EQ(source.line("origin", 0), std::nullopt);
  EXPECT_EQ(source.lines("x-forwarded-for"), 2u);
  EXPECT_EQ(source.lines("origin"), 0u);
}

}  // namespace
}  // namespace ebb::gate
