#include "reap/node_probe.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace ebb::reap {
namespace {

TEST(NodeProbe, WhatConnectSaysOfTheNode) {
  for (const int error : {0, ECONNREFUSED, ECONNRESET}) EXPECT_EQ(judge_connect(error), ProbeResult::answered);
  for (const int error : {ETIMEDOUT, EHOSTUNREACH}) EXPECT_EQ(judge_connect(error), ProbeResult::failed);
  for (const int error : {ENETUNREACH, EACCES, EPERM, EMFILE, EADDRNOTAVAIL}) {
    EXPECT_EQ(judge_connect(error), ProbeResult::inconclusive);
  }
}

}  // namespace
}  // namespace ebb::reap
