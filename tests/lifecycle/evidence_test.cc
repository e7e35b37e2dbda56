#include "lifecycle/evidence.h"

#include <gtest/gtest.h>

namespace ebb::lifecycle {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Evidence usually(base::Duration fast, int count, base::Duration slow = {}, int each = 0) {
  Evidence evidence;
  for (int i = 1; i <= count; ++i) {
    evidence.answered(each > 0 && i % each == 0 ? slow : fast, {}, false);
  }
  return evidence;
}

TEST(Evidence, OfAFastEndpointTwoRequestsThatWaitAreSilence) {
  const Evidence evidence = usually(milliseconds{5}, 1000);
  EXPECT_EQ(evidence.patience(), seconds{1});
  EXPECT_FALSE(evidence.is_silent(1));
  EXPECT_TRUE(evidence.is_silent(2));
}

TEST(Evidence, OfAnEndpointThatWasNeverHeardIsNone) { EXPECT_FALSE(Evidence().is_silent(100)); }

TEST(Evidence, ThatSomeRequestsAreSlowByNatureIsAllowedFor) {
  const Evidence evidence = usually(milliseconds{5}, 1000, seconds{6}, 10);
  EXPECT_FALSE(evidence.is_silent(3));
  EXPECT_TRUE(evidence.is_silent(6));
}

TEST(Evidence, OfAnEndpointThatIsAlwaysSlowIsPatient) {
  const Evidence evidence = usually(seconds{6}, 1000);
  EXPECT_GE(evidence.patience(), seconds{59});
}

TEST(Evidence, FollowsWhatBecomesUsual) {
  Evidence evidence = usually(seconds{2}, 200);
  for (int i = 0; i < 2000; ++i) evidence.answered(milliseconds{5}, {}, false);
  EXPECT_EQ(evidence.patience(), seconds{1});
  EXPECT_TRUE(evidence.is_silent(2));
}

TEST(Evidence, FiveFailuresInARowSpeakAgainstIt) {
  Evidence evidence = usually(milliseconds{5}, 10);
  for (int i = 0; i < 3; ++i) evidence.broke_off();
  evidence.answered(milliseconds{5}, {}, true);
  EXPECT_FALSE(evidence.fails_always());
  evidence.broke_off();
  EXPECT_TRUE(evidence.fails_always());
}

TEST(Evidence, OnProbationOneFailureIsEnough) {
  Evidence evidence;
  evidence.on_probation();
  EXPECT_FALSE(evidence.fails_always());
  evidence.broke_off();
  EXPECT_TRUE(evidence.fails_always());
}

TEST(Evidence, AGoodAnswerWipesTheSlate) {
  Evidence evidence;
  for (int i = 0; i < 4; ++i) evidence.broke_off();
  evidence.answered(milliseconds{5}, {}, false);
  evidence.broke_off();
  EXPECT_FALSE(evidence.fails_always());
}

}  // namespace
}  // namespace ebb::lifecycle
