#include "lifecycle/silence.h"

#include <gtest/gtest.h>

namespace ebb::lifecycle {
namespace {

using std::chrono::seconds;
using Verdict = Silence::Verdict;

constexpr SilenceLimits limits;
constexpr base::Instant start{seconds{100}};

TEST(Silence, APeerThatSpeaksIsNeverAsked) {
  Silence silence;
  for (int i = 0; i < 20; ++i) {
    silence.heard(start + seconds{4 * i});
    EXPECT_EQ(silence.look(start + seconds{4 * i + 4}, limits), Verdict::alive);
  }
}

TEST(Silence, AskedOnceThenDeadWithoutAnAnswer) {
  Silence silence;
  silence.heard(start);
  EXPECT_EQ(silence.next_look(limits), start + seconds{5});
  EXPECT_EQ(silence.look(start + seconds{5}, limits), Verdict::ask);
  EXPECT_EQ(silence.look(start + seconds{6}, limits), Verdict::alive);
  EXPECT_EQ(silence.next_look(limits), start + seconds{7});
  EXPECT_EQ(silence.look(start + seconds{7}, limits), Verdict::dead);
}

TEST(Silence, AnAnswerBeginsANewSilence) {
  Silence silence;
  silence.heard(start);
  EXPECT_EQ(silence.look(start + seconds{5}, limits), Verdict::ask);
  silence.heard(start + seconds{6});
  EXPECT_EQ(silence.look(start + seconds{7}, limits), Verdict::alive);
  EXPECT_EQ(silence.next_look(limits), start + seconds{11});
}

}  // namespace
}  // namespace ebb::lifecycle
