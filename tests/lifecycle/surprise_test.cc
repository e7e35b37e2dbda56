#include "lifecycle/surprise.h"

#include <gtest/gtest.h>

namespace ebb::lifecycle {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

AnswerTimes known(int quick, int slow = 0, base::Duration how_slow = seconds{8}) {
  AnswerTimes times;
  for (int i = 0; i < quick; ++i) times.note(milliseconds{5});
  for (int i = 0; i < slow; ++i) times.note(how_slow);
  return times;
}

// Requests that wait together, at one endpoint whose siblings know as much as itself.
double of_waiting(int requests, const AnswerTimes& own, base::Duration waited = milliseconds{1200}) {
  AnswerTimes all = own;
  all.add(own);
  double sum = 0;
  for (std::uint32_t i = 0; std::cmp_less(i, requests); ++i) sum += surprise_of_wait(waited, own, i, all, i);
  return sum;
}

TEST(AnswerTimes, StepsAreAFactorOfOneAndAHalfAtMost) {
  for (const int ms : {2, 5, 30, 250, 1000, 3000, 60'000}) {
    AnswerTimes times;
    times.note(milliseconds{ms});
    EXPECT_EQ(times.longer_than(milliseconds{ms}), 1u) << ms;
    EXPECT_EQ(times.longer_than(milliseconds{ms} * 8 / 5), 0u) << ms;
    EXPECT_GT(AnswerTimes::step_after(milliseconds{ms}), milliseconds{ms});
  }
}

TEST(AnswerTimes, TheOldFadesAndWhatIsRareStaysLongest) {
  AnswerTimes times = known(500, 500);
  for (int i = 0; i < 5000; ++i) times.note(milliseconds{5});
  EXPECT_LE(times.answers(), AnswerTimes::memory);
  EXPECT_LT(times.longer_than(seconds{1}), 20u);
  EXPECT_GE(times.longer_than(seconds{1}), 1u);
}

TEST(Surprise, TwoThatWaitWhereAllAreQuickAreSurprising) {
  EXPECT_GE(of_waiting(2, known(500)), 3);
  EXPECT_LT(of_waiting(1, known(500)), 3);
}

TEST(Surprise, FewAnswersMeanWideDoubt) {
  EXPECT_EQ(of_waiting(100, known(4)), 0) << "of a kind that hardly anything is known of";
  EXPECT_LT(of_waiting(2, known(12)), 3);
  EXPECT_GE(of_waiting(6, known(12)), 3);
}

TEST(Surprise, OneSlowAnswerAmongManyMakesNoSlowKind) {
  EXPECT_TRUE(known_as_slow(known(19, 1), seconds{2}));
  EXPECT_TRUE(known_as_slow(known(2, 1), seconds{2}));
  EXPECT_FALSE(known_as_slow(known(99, 1), seconds{2}));
  EXPECT_FALSE(known_as_slow(known(19, 1), seconds{60}));
  EXPECT_FALSE(known_as_slow(known(0), seconds{2}));
}

TEST(Surprise, WhatIsSlowByNatureSurprisesNobody) {
  EXPECT_LT(of_waiting(50, known(0, 100)), 1);
  EXPECT_LT(of_waiting(4, known(70, 30)), 3);
  EXPECT_GE(of_waiting(12, known(70, 30)), 3) << "but not so many of them";
}

TEST(Surprise, AColdEndpointIsNotMeasuredByItsSiblings) {
  const AnswerTimes siblings = known(1000);
  EXPECT_EQ(surprise_of_wait(seconds{5}, {}, 0, siblings, 0), 0);
  EXPECT_GT(surprise_of_wait(seconds{10}, {}, 0, siblings, 0), 2);
}

TEST(Surprise, AnEndpointThatIsSlowerThanItsSiblingsIsMeasuredByItself) {
  EXPECT_LT(surprise_of_wait(seconds{3}, known(20, 20), 0, known(1000), 0), 0.5);
}

TEST(Surprise, ATrialIsOfAKindThatIsAnsweredQuickly) {
  ASSERT_TRUE(plan_trial(known(500), milliseconds{250}).has_value());
  EXPECT_EQ(plan_trial(known(500), milliseconds{250})->time, milliseconds{250});
  EXPECT_GE(plan_trial(known(500), milliseconds{250})->surprise, 2);
  EXPECT_FALSE(plan_trial(known(9), milliseconds{250}).has_value()) << "too little is known";
  EXPECT_FALSE(plan_trial(known(70, 30), milliseconds{250}).has_value()) << "three in ten are slow";
  EXPECT_TRUE(plan_trial(known(99, 1), milliseconds{250}).has_value());
}

TEST(Surprise, TheTimeOfATrialIsThatOfItsKind) {
  const auto plan = plan_trial(known(0, 500, milliseconds{600}), milliseconds{250});
  ASSERT_TRUE(plan.has_value());
  EXPECT_GT(plan->time, milliseconds{600});
  EXPECT_LT(plan->time, milliseconds{1200});
}

TEST(Surprise, WhatAllWouldAnswerIsNoFailureOfOne) {
  EXPECT_GE(surprise_of_failures(5, 5, 0), 3) << "its siblings did better";
  EXPECT_LT(surprise_of_failures(50, 50, 50), 3) << "they did not";
  EXPECT_LT(surprise_of_failures(5, 5, 2), 3);
  EXPECT_LT(surprise_of_failures(1000, 2, 2), 3) << "they have hardly been asked";
  EXPECT_GE(surprise_of_failures(20, 40, 2), 3) << "now and then they fail too";
}

TEST(Surprise, TheLongerASilenceTheFewerStay) {
  EXPECT_EQ(chance_of_stay(milliseconds{1500}, {}, false), 0.05);
  EXPECT_EQ(chance_of_stay(seconds{3}, {}, false), 0.15);
  EXPECT_EQ(chance_of_stay(seconds{24}, {}, false), 0.15) << "two slow ones behind each other";
  EXPECT_EQ(chance_of_stay(seconds{31}, {}, false), 1);
  EXPECT_EQ(chance_of_stay(seconds{9}, seconds{6}, false), 0.05) << "it has answered after six seconds before";
}

TEST(Surprise, WhoWorksOnManyAtATimeHasNoReasonToBeSilent) {
  EXPECT_EQ(chance_of_stay(milliseconds{1500}, {}, true), 1);
  EXPECT_EQ(chance_of_stay(milliseconds{1500}, seconds{6}, true), 0.05);
}

TEST(Overtaking, OneAfterAnotherIsNotConcurrent) {
  Overtaking order;
  const base::Instant start{seconds{100}};
  for (int i = 0; i < 100; ++i) order.answered(start + milliseconds{10 * i});
  EXPECT_FALSE(order.concurrent());
  for (int i = 0; i < 4; ++i) order.answered(start + milliseconds{980});
  EXPECT_FALSE(order.concurrent()) << "that may be chance";
  order.answered(start);
  EXPECT_TRUE(order.concurrent());
}

TEST(Overtaking, ManyAnswersWhileOneRequestWaitsAreConcurrent) {
  Overtaking order;
  const base::Instant start{seconds{100}};
  const std::uint32_t place = order.place(3);
  for (int i = 0; i < 3 + 4; ++i) order.answered(start + milliseconds{10 * i});
  order.waits(place);
  EXPECT_FALSE(order.concurrent()) << "three were under way before it";
  order.answered(start + seconds{1});
  order.waits(place);
  EXPECT_TRUE(order.concurrent());
}

}  // namespace
}  // namespace ebb::lifecycle
