#include "lifecycle/verdict.h"

#include <gtest/gtest.h>

namespace ebb::lifecycle {
namespace {

using base::Cause;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class VerdictTest : public testing::Test {
 protected:
  base::Instant now() const { return clock_.now(); }
  void recover() {
    EXPECT_TRUE(verdict_.probe_passed(now()).changed);
    EXPECT_EQ(verdict_.health(), Health::warming);
    EXPECT_TRUE(verdict_.warmed().changed);
  }

  base::FakeClock clock_;
  Verdict verdict_;
};

TEST_F(VerdictTest, ARefusedConnectionIsEnoughForNewWorkAndTouchesNothingElse) {
  const Verdict::Change change = verdict_.connect_failed(now(), Cause::backend_refused);
  EXPECT_TRUE(change.changed);
  EXPECT_FALSE(change.condemned);
  EXPECT_EQ(verdict_.health(), Health::down);
  EXPECT_EQ(verdict_.why(), Cause::backend_refused);
}

TEST_F(VerdictTest, ProbesBackOffFromAQuarterOfASecondToTwo) {
  verdict_.connect_failed(now(), Cause::backend_refused);
  for (const int ms : {250, 500, 1000, 2000, 2000}) {
    EXPECT_EQ(verdict_.probe_at() - now(), milliseconds{ms});
    clock_.set(verdict_.probe_at());
    verdict_.probing();
    EXPECT_EQ(verdict_.probe_at(), base::Instant::max());
    verdict_.probe_failed(now());
  }
  recover();
  EXPECT_EQ(verdict_.health(), Health::up);
}

TEST_F(VerdictTest, StalledBytesMakeItSuspectAndAFailedProbeCondemnsIt) {
  EXPECT_TRUE(verdict_.stalled(now()).changed);
  EXPECT_EQ(verdict_.health(), Health::suspect);
  EXPECT_EQ(verdict_.probe_at(), now()) << "at once";
  const Verdict::Change change = verdict_.probe_failed(now());
  EXPECT_TRUE(change.condemned);
  EXPECT_EQ(verdict_.health(), Health::down);
  EXPECT_EQ(verdict_.why(), Cause::backend_dead);
}

TEST_F(VerdictTest, AProbeThatFailedBeforeBytesStalledTwiceCondemnsAtOnce) {
  verdict_.delayed(now());
  EXPECT_EQ(verdict_.health(), Health::up);
  EXPECT_EQ(verdict_.probe_at(), now());
  verdict_.probing();
  verdict_.delayed(now());  // one at a time
  EXPECT_EQ(verdict_.probe_at(), base::Instant::max());
  clock_.advance(milliseconds{250});
  EXPECT_FALSE(verdict_.probe_failed(now()).changed);
  verdict_.delayed(now());
  EXPECT_EQ(verdict_.probe_at(), base::Instant::max());
  EXPECT_FALSE(verdict_.settled(now()));
  const Verdict::Change change = verdict_.stalled(now());
  EXPECT_TRUE(change.condemned);
  EXPECT_EQ(verdict_.why(), Cause::backend_dead);
}

TEST_F(VerdictTest, AProbeOnItsWayIsTheOneThatDecides) {
  verdict_.delayed(now());
  verdict_.probing();
  EXPECT_FALSE(verdict_.stalled(now()).condemned);
  EXPECT_EQ(verdict_.health(), Health::suspect);
  EXPECT_EQ(verdict_.probe_at(), base::Instant::max());
  EXPECT_TRUE(verdict_.probe_failed(now()).condemned);
}

TEST_F(VerdictTest, AProbeThatPassedOrIsLongPastProvesNothing) {
  verdict_.delayed(now());
  verdict_.probing();
  EXPECT_FALSE(verdict_.probe_passed(now()).changed);
  EXPECT_FALSE(verdict_.stalled(now()).condemned);
  EXPECT_EQ(verdict_.health(), Health::suspect);
  verdict_.heard(now());

  verdict_.delayed(now());
  verdict_.probing();
  verdict_.probe_failed(now());
  clock_.advance(Verdict::unanswered_counts + milliseconds{1});
  EXPECT_FALSE(verdict_.stalled(now()).condemned);
}

TEST_F(VerdictTest, AProbeThatGetsThroughClearsTheSuspicionOfDeath) {
  verdict_.stalled(now());
  EXPECT_TRUE(verdict_.probe_passed(now()).changed);
  EXPECT_EQ(verdict_.health(), Health::up);
}

TEST_F(VerdictTest, ASuspicionThatNothingClearsIsDecidedInTime) {
  verdict_.stalled(now());
  EXPECT_FALSE(verdict_.overdue(now()));
  clock_.advance(seconds{3});
  EXPECT_TRUE(verdict_.overdue(now()));
}

TEST_F(VerdictTest, AFailedConnectionAndStalledBytesAreAProofInEitherOrder) {
  verdict_.stalled(now());
  EXPECT_TRUE(verdict_.connect_failed(now(), Cause::backend_connect_timeout).condemned);
  Verdict other;
  EXPECT_FALSE(other.connect_failed(now(), Cause::backend_connect_timeout).condemned);
  EXPECT_TRUE(other.stalled(now()).condemned);
  EXPECT_FALSE(other.stalled(now()).condemned) << "once";
}

TEST_F(VerdictTest, ThatItAcceptsConnectionsDoesNotClearSilence) {
  verdict_.silent(now());
  EXPECT_FALSE(verdict_.probe_passed(now()).changed);
  EXPECT_EQ(verdict_.health(), Health::suspect);
  EXPECT_TRUE(verdict_.heard(now()).changed);
  EXPECT_EQ(verdict_.health(), Health::up);
}

TEST_F(VerdictTest, SilenceAloneNeverCondemns) {
  verdict_.silent(now());
  clock_.advance(minutes{1});
  EXPECT_FALSE(verdict_.overdue(now()));
  EXPECT_FALSE(verdict_.probe_failed(now()).changed);
}

TEST_F(VerdictTest, EjectionsGetLongerUntilItHasBehavedForAWhile) {
  for (const int expected : {1, 2, 4, 8, 16, 30, 30}) {
    EXPECT_TRUE(verdict_.failing(now(), Cause::backend_reset).changed);
    EXPECT_EQ(verdict_.probe_at() - now(), seconds{expected});
    EXPECT_FALSE(verdict_.heard(now()).changed) << "an answer from before";
    clock_.set(verdict_.probe_at());
    recover();
  }
  clock_.advance(minutes{2});
  EXPECT_TRUE(verdict_.settled(now()));
  verdict_.failing(now(), Cause::backend_reset);
  EXPECT_EQ(verdict_.probe_at() - now(), seconds{1});
}

}  // namespace
}  // namespace ebb::lifecycle
