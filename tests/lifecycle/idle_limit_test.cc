#include "lifecycle/idle_limit.h"

#include <gtest/gtest.h>

namespace ebb::lifecycle {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(IdleLimit, UnknownItBindsOnlyRequestsThatCannotBeRepeated) {
  const base::FakeClock clock;
  const IdleLimit limit;
  EXPECT_EQ(limit.reuse_within(true, clock.now()), IdleLimit::unknown);
  EXPECT_EQ(limit.reuse_within(false, clock.now()), IdleLimit::careful);
}

TEST(IdleLimit, WhatTheEndpointSaysIsStayedUnder) {
  const base::FakeClock clock;
  IdleLimit limit;
  limit.announced(seconds{5});
  EXPECT_EQ(limit.reuse_within(true, clock.now()), seconds{4});
  EXPECT_EQ(limit.reuse_within(false, clock.now()), seconds{4});
}

TEST(IdleLimit, OneCloseMayHaveAnyReason) {
  const base::FakeClock clock;
  IdleLimit limit;
  limit.closed_after(milliseconds{20}, clock.now());
  EXPECT_EQ(limit.limit(clock.now()), IdleLimit::unknown);
}

TEST(IdleLimit, TwoClosesAlikeShowTheLimit) {
  const base::FakeClock clock;
  IdleLimit limit;
  limit.closed_after(milliseconds{1010}, clock.now());
  limit.closed_after(milliseconds{1000}, clock.now());
  EXPECT_EQ(limit.limit(clock.now()), seconds{1});
  EXPECT_EQ(limit.reuse_within(false, clock.now()), milliseconds{800});
}

TEST(IdleLimit, ClosesThatDifferShowNone) {
  const base::FakeClock clock;
  IdleLimit limit;
  for (const int ms : {20, 900, 35, 4000, 2000}) limit.closed_after(milliseconds{ms}, clock.now());
  EXPECT_EQ(limit.limit(clock.now()), IdleLimit::unknown);
}

TEST(IdleLimit, WhatWasSeenIsForgottenUnlessSeenAgain) {
  base::FakeClock clock;
  IdleLimit limit;
  limit.closed_after(seconds{1}, clock.now());
  limit.closed_after(seconds{1}, clock.now());
  clock.advance(minutes{1});
  EXPECT_EQ(limit.limit(clock.now()), IdleLimit::unknown);
  limit.closed_after(seconds{1}, clock.now());
  EXPECT_EQ(limit.limit(clock.now()), seconds{1});
}

TEST(IdleLimit, TheShorterOfWhatWasSaidAndSeenCounts) {
  const base::FakeClock clock;
  IdleLimit limit;
  limit.announced(seconds{60});
  limit.closed_after(seconds{2}, clock.now());
  limit.closed_after(seconds{2}, clock.now());
  EXPECT_EQ(limit.limit(clock.now()), seconds{2});
}

}  // namespace
}  // namespace ebb::lifecycle
