#include "gate/grpc_timeout.h"

#include <gtest/gtest.h>

namespace ebb::gate {
namespace {

using namespace std::chrono_literals;

TEST(GrpcTimeout, KnowsEveryUnit) {
  EXPECT_EQ(read_grpc_timeout("2H"), 2h);
  EXPECT_EQ(read_grpc_timeout("3M"), 3min);
  EXPECT_EQ(read_grpc_timeout("4S"), 4s);
  EXPECT_EQ(read_grpc_timeout("5m"), 5ms);
  EXPECT_EQ(read_grpc_timeout("6u"), 6us);
  EXPECT_EQ(read_grpc_timeout("00000007n"), 7ns);
  EXPECT_EQ(read_grpc_timeout("0S"), 0s);
}

TEST(GrpcTimeout, IsADayAtMost) {
  EXPECT_EQ(read_grpc_timeout("24H"), 24h);
  EXPECT_EQ(read_grpc_timeout("99999999H"), 24h);
  EXPECT_EQ(read_grpc_timeout("99999999S"), 24h);
  EXPECT_EQ(read_grpc_timeout("99999999n"), 99999999ns);
}

TEST(GrpcTimeout, IsNothingElse) {
  for (const char* text : {"", "S", "1", "1s", "1h", "-1S", "+1S", "1.5S", "1 S", " 1S", "1S ", "123456789S", "0x1S"}) {
    EXPECT_EQ(read_grpc_timeout(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace ebb::gate
