#include "lifecycle/evidence.h"
#include "lifecycle/surprise.h"

#include <gtest/gtest.h>

namespace ebb::lifecycle {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr base::Instant start{std::chrono::hours{1}};

TEST(Evidence, KindsAreKeptApart) {
  Evidence evidence;
  evidence.answered(1, milliseconds{5}, start);
  evidence.answered(2, seconds{8}, start);
  EXPECT_EQ(evidence.find(1)->times.longer_than(seconds{1}), 0u);
  EXPECT_EQ(evidence.find(2)->times.longer_than(seconds{1}), 1u);
  EXPECT_EQ(evidence.find(3), nullptr);
}

TEST(Evidence, KindsBeyondTheTableShareARow) {
  Evidence evidence;
  for (RequestKind kind = 1; kind <= 100; ++kind) evidence.answered(kind, milliseconds{5}, start);
  ASSERT_NE(evidence.find(100), nullptr);
  EXPECT_EQ(evidence.find(100), evidence.find(99));
  EXPECT_GT(evidence.find(100)->times.answers(), 80u);
  EXPECT_EQ(evidence.find(1)->times.answers(), 1u);
}

TEST(Evidence, AKindThatNobodyAsksForMakesRoom) {
  Evidence evidence;
  for (RequestKind kind = 1; kind <= 20; ++kind) evidence.answered(kind, milliseconds{5}, start);
  evidence.answered(100, milliseconds{5}, start + minutes{2});
  EXPECT_EQ(evidence.find(100)->kind, 100u);
}

TEST(Evidence, WhoGaveUpIsNotForgotten) {
  Evidence evidence;
  evidence.given_up(1, seconds{4}, start);
  EXPECT_EQ(evidence.find(1)->times.longer_than(seconds{3}), 1u);
  EXPECT_EQ(evidence.find(1)->asked_latest, base::Instant{}) << "that was no answer";
}

TEST(Evidence, WhatWasGivenUpIsLateOnceSomethingIsHeard) {
  Evidence evidence;
  evidence.given_up_unheard(1, start, start + milliseconds{800});
  evidence.settle(start - seconds{1}, start + seconds{2});
  ASSERT_EQ(evidence.given_up_unheard().size(), 1u) << "nothing came since it was asked";
  EXPECT_EQ(evidence.find(1), nullptr);
  evidence.settle(start + seconds{3}, start + seconds{3});
  EXPECT_TRUE(evidence.given_up_unheard().empty());
  EXPECT_EQ(evidence.find(1)->times.answers(), 1u);
}

TEST(Evidence, WhatWasGivenUpLongAgoIsLateThoughNothingIsHeard) {
  Evidence evidence;
  for (int i = 0; i < 100; ++i) evidence.given_up_unheard(1, start, start + seconds{1});
  EXPECT_EQ(evidence.given_up_unheard().size(), Evidence::unheard_max);
  evidence.settle({}, start + seconds{12});
  EXPECT_TRUE(evidence.given_up_unheard().empty());
}

TEST(Evidence, WhoGivesUpEarlyDoesNotMakeASlowKindLookQuick) {
  Evidence evidence;
  for (int i = 0; i < 100; ++i) evidence.given_up(1, milliseconds{300}, start);
  for (int i = 0; i < 30; ++i) {
    evidence.answered(1, seconds{6}, start);
    for (int impatient = 0; impatient < 6; ++impatient) evidence.given_up(1, milliseconds{300}, start);
  }
  const AnswerTimes& times = evidence.find(1)->times;
  EXPECT_EQ(times.longer_than(seconds{5}), times.answers());
  EXPECT_FALSE(plan_trial(times, milliseconds{300}));
}

TEST(Evidence, WhoGivesUpAtOnceChangesNothingAboutTheKind) {
  Evidence evidence;
  for (int i = 0; i < 80; ++i) evidence.answered(1, milliseconds{5}, start);
  for (int i = 0; i < 20; ++i) evidence.answered(1, seconds{6}, start);
  for (int i = 0; i < 400; ++i) evidence.given_up(1, {}, start);
  const AnswerTimes& times = evidence.find(1)->times;
  EXPECT_NEAR(static_cast<double>(times.longer_than(seconds{5})) / times.answers(), 0.2, 0.03);
}

TEST(Evidence, FailuresInARowAreCountedByKindAndEndedByAGoodAnswer) {
  Evidence evidence;
  for (int i = 0; i < 4; ++i) evidence.failed(1, start);
  EXPECT_EQ(evidence.failed(2, start).failures_in_a_row, 1u);
  EXPECT_EQ(evidence.failed(1, start).failures_in_a_row, 5u);
  evidence.answered(1, milliseconds{5}, start);
  EXPECT_EQ(evidence.failed(1, start).failures_in_a_row, 1u);
  EXPECT_EQ(evidence.find(1)->counts.failures, 6u);
}

TEST(Evidence, TellsARowOfOneBoundClientFromThatOfSeveral) {
  Evidence evidence;
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(evidence.failed(1, start, 7).others_failed);
  EXPECT_TRUE(evidence.failed(1, start, 8).others_failed);
  evidence.answered(1, milliseconds{5}, start);
  EXPECT_FALSE(evidence.failed(1, start, 8).others_failed);
  EXPECT_TRUE(evidence.failed(1, start).others_failed) << "anybody's request might have come here";
  EXPECT_TRUE(evidence.failed(1, start, 8).others_failed);
}

TEST(Evidence, AfterAnEjectionOneMoreFailureIsEnough) {
  Evidence evidence;
  for (int i = 0; i < 9; ++i) evidence.failed(1, start);
  evidence.begin_anew(5);
  EXPECT_EQ(evidence.failed(1, start).failures_in_a_row, 5u);
}

TEST(Evidence, WhoComesBackIsColdAgain) {
  Evidence evidence;
  for (int i = 0; i < 100; ++i) evidence.answered(1, milliseconds{5}, start);
  evidence.begin_anew(5);
  EXPECT_EQ(evidence.find(1)->times.answers(), 0u);
}

}  // namespace
}  // namespace ebb::lifecycle
