#include "wire/http_date.h"

#include <gtest/gtest.h>

namespace ebb::wire {
namespace {

TEST(HttpDate, IsTheFixedFormat) {
  EXPECT_EQ(http_date(base::WallTime{std::chrono::seconds{784111777}}), "Sun, 06 Nov 1994 08:49:37 GMT");
}

}  // namespace
}  // namespace ebb::wire
