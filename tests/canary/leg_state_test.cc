#include "canary/leg_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ebb::canary {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

class LegStateTest : public testing::Test {
 protected:
  // One letter a probe, five seconds apart: '.' good, 'r' refused, 's' status, 'S' another status, 'u' unable.
  LegState::News walk(std::string_view probes) {
    LegState::News news = LegState::News::none;
    for (const char probe : probes) {
      clock_.advance(seconds{5});
      news = state_.note(judgement(probe), clock_.wall());
    }
    return news;
  }
  static Judgement judgement(char probe) {
    switch (probe) {
      case 'r': return {Fault::connect_refused, "Connection refused"};
      case 's': return {Fault::status_5xx, "status 503"};
      case 'S': return {Fault::status_5xx, "status 502"};
      case 't': return {Fault::connect_timeout, ""};
      case 'u': return {Fault::unable, "Too many open files"};
      default: return {};
    }
  }

  base::FakeClock clock_;
  LegState state_;
};

TEST_F(LegStateTest, IsUnknownUntilAProbeSaysSomething) {
  EXPECT_EQ(state_.condition().status, Truth::unknown);
  EXPECT_EQ(state_.condition().reason, "CanaryChecksNotYetMade");
  walk("rr");
  EXPECT_EQ(state_.succeeding(), Truth::unknown);
  walk(".");
  EXPECT_EQ(state_.succeeding(), Truth::yes);
}

TEST_F(LegStateTest, TurnsAtThreeOfFiveInARowOrNot) {
  for (const std::string_view probes : {"rrr", ".....rrr", ".....r.r.r", "....rr..r", "r.rr"}) {
    state_ = LegState();
    EXPECT_EQ(walk(probes), LegState::News::fell) << probes;
    EXPECT_EQ(state_.condition().status, Truth::no) << probes;
  }
  for (const std::string_view probes : {".....rr...rr...", "r...r...r..."}) {
    state_ = LegState();
    walk(probes);
    EXPECT_EQ(state_.condition().status, Truth::yes) << probes;
  }
}

TEST_F(LegStateTest, RecoversWhenFewerAreBad) {
  walk("rrr");
  EXPECT_EQ(walk(".."), LegState::News::none);
  EXPECT_EQ(state_.succeeding(), Truth::no);
  EXPECT_EQ(walk("."), LegState::News::rose);
  EXPECT_EQ(state_.succeeding(), Truth::yes);
}

TEST_F(LegStateTest, OtherTolerance) {
  state_ = LegState({.bad = 1, .of = 1});
  EXPECT_EQ(walk("r"), LegState::News::fell);
  EXPECT_EQ(walk("."), LegState::News::rose);
  state_ = LegState({.bad = 32, .of = 32});
  walk(std::string(31, 'r'));
  EXPECT_EQ(state_.succeeding(), Truth::unknown);
  EXPECT_EQ(walk("r"), LegState::News::fell);
}

TEST_F(LegStateTest, CauseIsWhatTheSpellHasMostOf) {
  EXPECT_FALSE(state_.cause().has_value());
  walk(".....");
  const base::WallTime before = clock_.wall();
  walk("rsSr.s");
  const auto cause = state_.cause();
  ASSERT_TRUE(cause.has_value());
  EXPECT_EQ(cause->fault, Fault::status_5xx);
  EXPECT_EQ(cause->seen.count, 3u);
  EXPECT_EQ(cause->seen.first, before + seconds{10});
  EXPECT_EQ(cause->seen.last, before + seconds{30});
}

TEST_F(LegStateTest, OfTwoCausesTheLaterOneCounts) {
  walk("rs");
  EXPECT_EQ(state_.cause()->fault, Fault::status_5xx);
  walk("r");
  EXPECT_EQ(state_.cause()->fault, Fault::connect_refused);
}

TEST_F(LegStateTest, KeepsTheLastThreeDistinctErrors) {
  walk("tsSrrS");
  ASSERT_EQ(state_.errors().size(), 3u);
  EXPECT_EQ(state_.errors()[0].what.detail, "status 502");
  EXPECT_EQ(state_.errors()[0].seen.count, 2u);
  EXPECT_EQ(state_.errors()[0].seen.last - state_.errors()[0].seen.first, seconds{15});
  EXPECT_EQ(state_.errors()[1].what.fault, Fault::connect_refused);
  EXPECT_EQ(state_.errors()[2].what.detail, "status 503");
}

TEST_F(LegStateTest, NewSpellForgetsTheOld) {
  walk("sss.....");
  EXPECT_EQ(state_.errors().size(), 1u);
  walk("r");
  ASSERT_EQ(state_.errors().size(), 1u);
  EXPECT_EQ(state_.errors()[0].what.fault, Fault::connect_refused);
  EXPECT_EQ(state_.cause()->seen.count, 1u);
  EXPECT_EQ(state_.count(Fault::status_5xx), 3u) << "counters only grow";
}

TEST_F(LegStateTest, InabilityIsNotHeldAgainstTheLeg) {
  walk(".....uuuuu");
  EXPECT_EQ(state_.succeeding(), Truth::unknown);
  EXPECT_EQ(state_.condition().reason, "CanaryChecksNotPossible");
  EXPECT_THAT(state_.condition().message, HasSubstr("Too many open files"));
  EXPECT_EQ(walk("."), LegState::News::none);
  EXPECT_EQ(state_.succeeding(), Truth::yes);
}

TEST_F(LegStateTest, NewsOfAFallIsNotRepeatedAfterInability) {
  EXPECT_EQ(walk("rrr"), LegState::News::fell);
  EXPECT_EQ(walk("u"), LegState::News::none);
  EXPECT_EQ(walk("r"), LegState::News::none);
  EXPECT_EQ(state_.succeeding(), Truth::no);
}

TEST_F(LegStateTest, ConditionSaysSinceWhenAndWhy) {
  walk(".....rr");
  const base::WallTime turned = clock_.wall() + seconds{5};
  walk("rrr");
  const Condition condition = state_.condition();
  EXPECT_EQ(condition.since, turned);
  EXPECT_EQ(condition.reason, "CanaryChecksRepetitiveFailures");
  EXPECT_EQ(condition.message,
            "5 of the last 5 probes failed. Last errors:\nconnect_refused: Connection refused (x5 over 20s)");
}

TEST(SumUp, IsNoIfOneIsNoAndYesIfAllAre) {
  const auto leg = [](Truth truth, int at) {
    return NamedCondition{"leg" + std::to_string(at), {truth, "Reason", "why", base::WallTime{} + seconds{at}}};
  };
  EXPECT_EQ(sum_up({}).status, Truth::unknown);
  EXPECT_EQ(sum_up({leg(Truth::yes, 1), leg(Truth::unknown, 2)}).status, Truth::unknown);
  const Condition yes = sum_up({leg(Truth::yes, 1), leg(Truth::yes, 2)});
  EXPECT_EQ(yes.status, Truth::yes);
  EXPECT_EQ(yes.since, base::WallTime{} + seconds{2});
  const Condition no = sum_up({leg(Truth::yes, 1), leg(Truth::no, 3), leg(Truth::no, 2), leg(Truth::unknown, 4)});
  EXPECT_EQ(no.status, Truth::no);
  EXPECT_EQ(no.since, base::WallTime{} + seconds{2});
  EXPECT_EQ(no.message, "1 of 4 legs succeed\nleg3: why\nleg2: why");
}

}  // namespace
}  // namespace ebb::canary
