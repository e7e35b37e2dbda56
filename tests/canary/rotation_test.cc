#include "canary/rotation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "canary/phases.h"
#include "canary/schedule.h"

namespace ebb::canary {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(PortRotation, MovesAfterGoodRoundsOnly) {
  base::FakeClock clock;
  PortRotation rotation({.ports = {8080, 8888}});
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(rotation.round_ended(true, clock.now()));
  EXPECT_FALSE(rotation.round_ended(false, clock.now()));
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(rotation.round_ended(true, clock.now()));
  EXPECT_EQ(rotation.wanted(), 8080);
  EXPECT_TRUE(rotation.round_ended(true, clock.now()));
  EXPECT_EQ(rotation.wanted(), 8888);
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(rotation.round_ended(true, clock.now()));
  EXPECT_TRUE(rotation.round_ended(true, clock.now()));
  EXPECT_EQ(rotation.wanted(), 8080);
  EXPECT_EQ(rotation.moves(), 2u);
}

TEST(PortRotation, OldPortIsRightDuringTheGrace) {
  base::FakeClock clock;
  PortRotation rotation({.ports = {8080, 8888}, .rounds = 1, .grace = seconds{5}});
  EXPECT_THAT(rotation.right_ports(clock.now()), ElementsAre(8080));
  rotation.round_ended(true, clock.now());
  EXPECT_THAT(rotation.right_ports(clock.now()), ElementsAre(8888, 8080));
  clock.advance(seconds{5} - milliseconds{1});
  EXPECT_THAT(rotation.right_ports(clock.now()), ElementsAre(8888, 8080));
  clock.advance(milliseconds{1});
  EXPECT_THAT(rotation.right_ports(clock.now()), ElementsAre(8888));
}

TEST(PortRotation, WithoutASecondPortNothingMoves) {
  base::FakeClock clock;
  PortRotation one({.ports = {8080}, .rounds = 1});
  EXPECT_FALSE(one.round_ended(true, clock.now()));
  EXPECT_THAT(one.right_ports(clock.now()), ElementsAre(8080));
  PortRotation none;
  EXPECT_FALSE(none.round_ended(true, clock.now()));
  EXPECT_EQ(none.wanted(), std::nullopt);
  EXPECT_THAT(none.right_ports(clock.now()), IsEmpty());
}

using enum Rounds::Outcome;

TEST(Rounds, EndWhenEveryLegWasWalked) {
  Rounds rounds(3);
  EXPECT_EQ(rounds.note(0, good), std::nullopt);
  EXPECT_EQ(rounds.note(0, good), std::nullopt) << "a fast leg does not stand for a slow one";
  EXPECT_EQ(rounds.note(2, good), std::nullopt);
  EXPECT_EQ(rounds.note(1, good), true);
  EXPECT_EQ(rounds.note(1, good), std::nullopt);
}

TEST(Rounds, AreBadIfOneLegWas) {
  Rounds rounds(2);
  rounds.note(0, bad);
  rounds.note(0, good);
  EXPECT_EQ(rounds.note(1, good), false);
  rounds.note(0, good);
  EXPECT_EQ(rounds.note(1, good), true);
}

TEST(Rounds, LegThatIsKnownToFailDoesNotKeepTheOthers) {
  Rounds rounds(2);
  rounds.note(0, excused);
  EXPECT_EQ(rounds.note(1, good), true);
  rounds.note(0, excused);
  EXPECT_EQ(rounds.note(1, excused), false) << "nobody has proven anything";
}

TEST(Schedule, StaysWithinATenthAndNeverJoinsAnOverlongProbe) {
  base::Rng random(1);
  const Schedule schedule;
  const base::Instant began{};
  base::Instant earliest = base::Instant::max();
  base::Instant latest{};
  for (int i = 0; i < 1000; ++i) {
    const base::Instant next = schedule.next_at(began, began + seconds{1}, false, random);
    earliest = std::min(earliest, next);
    latest = std::max(latest, next);
    EXPECT_LE(schedule.first_at(began, random), began + schedule.every);
  }
  EXPECT_GE(earliest, began + milliseconds{4500});
  EXPECT_LE(latest, began + milliseconds{5500});
  EXPECT_GT(latest - earliest, milliseconds{800}) << "there is a jitter";
  EXPECT_EQ(schedule.next_at(began, began + seconds{9}, false, random), began + seconds{9});
}

TEST(Schedule, KnowsWithinFifteenSecondsThatALegFails) {
  base::Rng random(1);
  Schedule schedule;
  for (int i = 0; i < 1000; ++i) {
    // The fault comes right after a good probe, and each probe that meets it uses up its budget.
    base::Instant began = schedule.next_at({}, {}, false, random);
    for (int bad = 1; bad < 3; ++bad) began = schedule.next_at(began, began + schedule.budget, true, random);
    EXPECT_LE(began + schedule.budget, base::Instant{} + seconds{15});
  }
  schedule.presses = false;
  EXPECT_GE(schedule.next_at({}, {}, true, random), base::Instant{} + milliseconds{4500});
}

TEST(Phases, OnlyWhatTookPlaceIsCounted) {
  Phases probe;
  probe.set(Phase::connect, milliseconds{3});
  probe.set(Phase::total, milliseconds{30});
  PhaseHistograms histograms;
  histograms.add(probe, true);
  histograms.add(probe, false);
  EXPECT_EQ(histograms.phases[static_cast<std::size_t>(Phase::connect)].count, 2u);
  EXPECT_EQ(histograms.phases[static_cast<std::size_t>(Phase::dns)].count, 0u);
  EXPECT_EQ(histograms.checks.count, 1u) << "as OpenShift has it: successes only";
  EXPECT_THAT(histograms.checks.buckets, ElementsAre(0, 1, 0, 0, 0, 0, 0, 0));
}

TEST(Phases, BoundsBelongToTheirBucket) {
  CheckDurations checks;
  for (const int ms : {25, 26, 1600, 1601}) checks.add(milliseconds{ms});
  EXPECT_THAT(checks.buckets, ElementsAre(1, 1, 0, 0, 0, 0, 1, 1));
}

}  // namespace
}  // namespace ebb::canary
