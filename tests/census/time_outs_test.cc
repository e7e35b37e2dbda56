#include "census/time_outs.h"

#include <gtest/gtest.h>

namespace ebb::census {
namespace {

constexpr std::string_view netstat =
    "TcpExt: SyncookiesSent TCPTimeouts TCPSpuriousRtxHostQueues\n"
    "TcpExt: 1 18446744073709551615 3\n"
    "IpExt: InNoRoutes TCPTimeouts\n"
    "IpExt: 4 5\n";

TEST(TimeOuts, CountersAreFoundByGroupAndName) {
  EXPECT_EQ(find_counter(netstat, "TcpExt:", "SyncookiesSent"), 1U);
  EXPECT_EQ(find_counter(netstat, "TcpExt:", "TCPTimeouts"), 18446744073709551615U);
  EXPECT_EQ(find_counter(netstat, "IpExt:", "TCPTimeouts"), 5U);
  EXPECT_EQ(find_counter(netstat, "TcpExt:", "InNoRoutes"), std::nullopt);
  EXPECT_EQ(find_counter(netstat, "MPTcpExt:", "TCPTimeouts"), std::nullopt);
}

TEST(TimeOuts, WhatMakesNoSenseIsNotRead) {
  for (const std::string_view text : {"", "\n", "TcpExt: TCPTimeouts", "TcpExt: TCPTimeouts\n",
                                      "TcpExt: TCPTimeouts\nTcpExt:", "TcpExt: TCPTimeouts\nIpExt: 1\n",
                                      "TcpExt: a TCPTimeouts\nTcpExt: 1\n", "TcpExt: TCPTimeouts\nTcpExt: x\n"}) {
    EXPECT_EQ(find_counter(text, "TcpExt:", "TCPTimeouts"), std::nullopt) << text;
  }
}

TEST(TimeOuts, ThisKernelCountsThem) { EXPECT_TRUE(read_time_outs()); }

}  // namespace
}  // namespace ebb::census
