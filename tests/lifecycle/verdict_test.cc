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

TEST_F(VerdictTest, ADoubtThatExpiredDoesNotComeBackByWhatWasFoundBefore) {
  verdict_.silent(now(), 2);
  clock_.advance(seconds{10});
  ASSERT_TRUE(verdict_.doubt_expired(now()));
  EXPECT_FALSE(verdict_.expire(now()).heard);
  EXPECT_FALSE(verdict_.silent(now(), 2).changed);
  clock_.advance(seconds{1});
  EXPECT_TRUE(verdict_.silent(now(), 2).changed) << "that is found anew";
  EXPECT_TRUE(verdict_.heard(now()).heard);
}

TEST_F(VerdictTest, AnEndpointThatCannotBeReachedIsNotSilentToo) {
  verdict_.connect_failed(now(), Cause::backend_refused);
  verdict_.check_fell(now(), Cause::backend_connect_timeout, true);
  EXPECT_EQ(verdict_.doubt(), Doubt::none);
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
  verdict_.silent(now(), 3);
  EXPECT_FALSE(verdict_.probe_passed(now()).changed);
  EXPECT_EQ(verdict_.health(), Health::suspect);
  EXPECT_TRUE(verdict_.heard(now()).changed);
  EXPECT_EQ(verdict_.health(), Health::up);
}

TEST_F(VerdictTest, SilenceAloneNeverCondemns) {
  verdict_.silent(now(), 3);
  clock_.advance(minutes{1});
  EXPECT_FALSE(verdict_.overdue(now()));
  EXPECT_FALSE(verdict_.probe_failed(now()).changed);
}

TEST_F(VerdictTest, OnlyATrialThatFailsConfirmsASilence) {
  EXPECT_TRUE(verdict_.silent(now(), 3).changed);
  EXPECT_EQ(verdict_.doubt(), Doubt::doubted);
  EXPECT_FALSE(verdict_.silent(now(), 100).changed) << "however surprising";
  EXPECT_EQ(verdict_.doubt(), Doubt::doubted);
  EXPECT_TRUE(verdict_.trial_failed(now(), 1.3).changed);
  EXPECT_EQ(verdict_.doubt(), Doubt::confirmed);
  EXPECT_EQ(verdict_.health(), Health::suspect);
}

TEST_F(VerdictTest, TrialsOfAKindThatIsOftenSlowMustBeMany) {
  verdict_.silent(now(), 3);
  EXPECT_FALSE(verdict_.trial_failed(now(), 1.3).changed);
  EXPECT_TRUE(verdict_.trial_failed(now(), 1.3).changed);
}

TEST_F(VerdictTest, ATrialOfAnEndpointThatIsNotDoubtedSaysNothing) {
  EXPECT_FALSE(verdict_.trial_failed(now(), 9).changed);
  EXPECT_EQ(verdict_.doubt(), Doubt::none);
  verdict_.silent(now(), 3);
  EXPECT_EQ(verdict_.doubt(), Doubt::doubted);
}

TEST_F(VerdictTest, AByteEndsTheDoubtAndWhatWasHeldAgainstIt) {
  verdict_.silent(now(), 100);
  verdict_.trial_failed(now(), 3);
  EXPECT_TRUE(verdict_.heard(now()).changed);
  EXPECT_EQ(verdict_.health(), Health::up);
  EXPECT_EQ(verdict_.doubt(), Doubt::none);
  verdict_.silent(now(), 3);
  EXPECT_FALSE(verdict_.trial_failed(now(), 1.3).changed);
}

TEST_F(VerdictTest, ADoubtThatNoTrialSupportsExpires) {
  verdict_.silent(now(), 3);
  EXPECT_FALSE(verdict_.doubt_expired(now()));
  clock_.advance(seconds{9});
  verdict_.trial_failed(now(), 1.3);
  clock_.advance(seconds{9});
  EXPECT_FALSE(verdict_.doubt_expired(now()));
  clock_.advance(seconds{1});
  EXPECT_TRUE(verdict_.doubt_expired(now()));
}

TEST_F(VerdictTest, ChecksThatAreNotAnsweredAreTrials) {
  verdict_.silent(now(), 3);
  EXPECT_FALSE(verdict_.check_failed(now(), Cause::backend_check_failed).changed) << "answered badly, but answered";
  EXPECT_TRUE(verdict_.check_failed(now(), Cause::backend_check_failed, true).changed);
  EXPECT_EQ(verdict_.doubt(), Doubt::confirmed);
}

TEST_F(VerdictTest, PingsThatAreNotAnsweredMakeItDoubtedAndTakeLongToConfirmThat) {
  EXPECT_TRUE(verdict_.ping_unanswered(now()).changed);
  EXPECT_EQ(verdict_.doubt(), Doubt::doubted);
  EXPECT_FALSE(verdict_.compared()) << "no sibling was asked";
  EXPECT_FALSE(verdict_.ping_unanswered(now()).changed);
  EXPECT_TRUE(verdict_.ping_unanswered(now()).changed);
  EXPECT_EQ(verdict_.doubt(), Doubt::confirmed);
}

TEST_F(VerdictTest, ADoubtThatIsTakenBackDoesNotReviveWhatCannotBeReached) {
  verdict_.silent(now(), 3);
  verdict_.connect_failed(now(), Cause::backend_refused);
  EXPECT_TRUE(verdict_.expire(now()).changed);
  EXPECT_EQ(verdict_.doubt(), Doubt::none);
  EXPECT_EQ(verdict_.health(), Health::down);
}

TEST_F(VerdictTest, WhoFallsByChecksThatAreNotAnsweredAnswersNothing) {
  EXPECT_TRUE(verdict_.check_fell(now(), Cause::backend_check_failed, true).changed);
  EXPECT_EQ(verdict_.health(), Health::down);
  EXPECT_EQ(verdict_.doubt(), Doubt::confirmed);
  EXPECT_TRUE(verdict_.heard(now()).changed) << "it does, if late";
  EXPECT_EQ(verdict_.doubt(), Doubt::none);
  EXPECT_EQ(verdict_.health(), Health::down) << "its checks decide that";
}

TEST_F(VerdictTest, SilenceIsJudgedOfOneThatIsDownToo) {
  verdict_.check_fell(now(), Cause::backend_check_failed);
  EXPECT_TRUE(verdict_.silent(now(), 3).changed);
  EXPECT_TRUE(verdict_.trial_failed(now(), 2).changed);
  EXPECT_EQ(verdict_.doubt(), Doubt::confirmed);
  EXPECT_EQ(verdict_.why(), Cause::backend_check_failed);
}

TEST_F(VerdictTest, WhenItWasNotDeadItMayStillBeSilent) {
  verdict_.silent(now(), 3);
  verdict_.stalled(now());
  EXPECT_EQ(verdict_.why(), Cause::backend_dead);
  EXPECT_TRUE(verdict_.probe_passed(now()).changed);
  EXPECT_EQ(verdict_.health(), Health::suspect);
  EXPECT_EQ(verdict_.why(), Cause::backend_silent);
}

TEST_F(VerdictTest, EjectionsGetLongerUntilItHasBehavedForAWhile) {
  for (const int expected : {1, 2, 4, 4}) {
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

TEST_F(VerdictTest, ChecksThatFailTakeItDownAndOnlyChecksBringItBack) {
  EXPECT_FALSE(verdict_.check_failed(now(), Cause::backend_check_failed).changed) << "one alone";
  const Verdict::Change change = verdict_.check_fell(now(), Cause::backend_check_failed);
  EXPECT_TRUE(change.changed);
  EXPECT_FALSE(change.condemned) << "what it has begun may end";
  EXPECT_EQ(verdict_.health(), Health::down);
  EXPECT_EQ(verdict_.why(), Cause::backend_check_failed);
  EXPECT_EQ(verdict_.probe_at(), base::Instant::max()) << "the checks come at their own pace";
  EXPECT_FALSE(verdict_.heard(now()).changed);
  EXPECT_FALSE(verdict_.check_passed(now()).changed) << "not enough of them";
  EXPECT_FALSE(verdict_.probe_passed(now()).changed) << "one that was on its way";
  EXPECT_TRUE(verdict_.check_rose(now()).changed);
  EXPECT_EQ(verdict_.health(), Health::warming);
}

TEST_F(VerdictTest, WhetherFailingChecksReachItDecidesWhatItIsStillGoodFor) {
  const auto standing_now = [this] {
    return standing({Membership::present, Wish::ready, verdict_.health(), verdict_.why()});
  };
  verdict_.check_fell(now(), Cause::backend_check_failed);
  EXPECT_EQ(standing_now(), Standing::doubtful) << "better than no answer";
  EXPECT_TRUE(verdict_.check_failed(now(), Cause::backend_refused).changed);
  EXPECT_EQ(standing_now(), Standing::unavailable);
  EXPECT_FALSE(verdict_.check_failed(now(), Cause::backend_connect_timeout).changed);
  EXPECT_TRUE(verdict_.check_failed(now(), Cause::backend_check_failed).changed);
  EXPECT_EQ(standing_now(), Standing::doubtful);
}

TEST_F(VerdictTest, ACheckThatPassesIsAProbeOfWhatOtherEvidenceTookDown) {
  verdict_.connect_failed(now(), Cause::backend_refused);
  EXPECT_EQ(verdict_.probe_at() - now(), milliseconds{250});
  clock_.set(verdict_.probe_at());
  verdict_.left_to_check();
  EXPECT_FALSE(verdict_.check_failed(now(), Cause::backend_refused).changed);
  EXPECT_EQ(verdict_.probe_at() - now(), milliseconds{500});
  EXPECT_TRUE(verdict_.check_passed(now()).changed);
  EXPECT_EQ(verdict_.health(), Health::warming);
}

TEST_F(VerdictTest, ChecksThatPassDoNotShortenAnEjection) {
  verdict_.failing(now(), Cause::backend_failing);
  EXPECT_FALSE(verdict_.probe_passed(now()).changed) << "one that was on its way";
  EXPECT_FALSE(verdict_.check_passed(now()).changed);
  EXPECT_FALSE(verdict_.check_rose(now()).changed);
  EXPECT_EQ(verdict_.probe_at() - now(), seconds{1});
  verdict_.check_failed(now(), Cause::backend_check_failed);
  EXPECT_EQ(verdict_.probe_at() - now(), seconds{1});
  clock_.set(verdict_.probe_at());
  EXPECT_TRUE(verdict_.check_passed(now()).changed);
}

TEST_F(VerdictTest, ChecksThatPassDoNotClearSilence) {
  verdict_.silent(now(), 3);
  EXPECT_FALSE(verdict_.check_passed(now()).changed);
  EXPECT_FALSE(verdict_.check_rose(now()).changed);
  EXPECT_EQ(verdict_.health(), Health::suspect);
}

TEST_F(VerdictTest, ASilentOneWhoseChecksFailTooStaysSilentUntilItAnswersAndIsDownThen) {
  verdict_.silent(now(), 3);
  EXPECT_FALSE(verdict_.check_fell(now(), Cause::backend_check_failed).changed) << "trials go on";
  EXPECT_FALSE(verdict_.check_rose(now()).changed) << "and checks do not cure it";
  EXPECT_EQ(verdict_.health(), Health::suspect);
  verdict_.check_fell(now(), Cause::backend_check_failed);
  EXPECT_TRUE(verdict_.heard(now()).changed);
  EXPECT_EQ(verdict_.health(), Health::down);
  EXPECT_EQ(verdict_.why(), Cause::backend_check_failed);
}

TEST_F(VerdictTest, ACheckThatDoesNotReachASuspectCondemnsItAndABadAnswerDoesNot) {
  verdict_.stalled(now());
  EXPECT_FALSE(verdict_.check_failed(now(), Cause::backend_check_failed).changed);
  EXPECT_FALSE(verdict_.check_fell(now(), Cause::backend_check_failed).changed);
  EXPECT_EQ(verdict_.health(), Health::suspect);
  EXPECT_TRUE(verdict_.check_failed(now(), Cause::backend_connect_timeout).condemned);
}

TEST_F(VerdictTest, ACheckThatDidNotReachItIsAProofBesideStalledBytes) {
  EXPECT_FALSE(verdict_.check_failed(now(), Cause::backend_connect_timeout).changed);
  EXPECT_TRUE(verdict_.stalled(now()).condemned);
}

TEST_F(VerdictTest, WhenChecksEndProbesTakeOver) {
  verdict_.check_fell(now(), Cause::backend_check_failed);
  verdict_.checks_ended(now());
  EXPECT_EQ(verdict_.probe_at(), now());
  recover();
}

}  // namespace
}  // namespace ebb::lifecycle
