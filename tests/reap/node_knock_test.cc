#include "reap/node_knock.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace ebb::reap {
namespace {

TEST(NodeProbe, WhatConnectSaysOfTheNode) {
  for (const int error : {0, ECONNREFUSED, ECONNRESET}) EXPECT_EQ(judge_connect(error), KnockResult::answered);
  for (const int error : {ETIMEDOUT, EHOSTUNREACH}) EXPECT_EQ(judge_connect(error), KnockResult::failed);
  for (const int error : {ENETUNREACH, EACCES, EPERM, EMFILE, EADDRNOTAVAIL}) {
    EXPECT_EQ(judge_connect(error), KnockResult::inconclusive);
  }
}

}  // namespace
}  // namespace ebb::reap
