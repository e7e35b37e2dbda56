#include "lifecycle/silence.h"

#include <gtest/gtest.h>

namespace ebb::lifecycle {
namespace {

using std::chrono::seconds;
using Sign = Silence::Sign;

constexpr SilenceLimits limits;
constexpr base::Instant start{seconds{100}};

TEST(Silence, APeerThatSpeaksIsNeverAsked) {
  Silence silence;
  for (int i = 0; i < 20; ++i) {
    silence.heard(start + seconds{4 * i});
    EXPECT_EQ(silence.look(start + seconds{4 * i + 4}, limits), Sign::alive);
  }
}

TEST(Silence, AskedOnceThenDeadWithoutAnAnswer) {
  Silence silence;
  silence.heard(start);
  EXPECT_EQ(silence.next_look(limits), start + seconds{5});
  EXPECT_EQ(silence.look(start + seconds{5}, limits), Sign::ask);
  EXPECT_EQ(silence.look(start + seconds{6}, limits), Sign::alive);
  EXPECT_EQ(silence.next_look(limits), start + seconds{7});
  EXPECT_EQ(silence.look(start + seconds{7}, limits), Sign::dead);
}

TEST(Silence, AnAnswerBeginsANewSilence) {
  Silence silence;
  silence.heard(start);
  EXPECT_EQ(silence.look(start + seconds{5}, limits), Sign::ask);
  silence.heard(start + seconds{6});
  EXPECT_EQ(silence.look(start + seconds{7}, limits), Sign::alive);
  EXPECT_EQ(silence.next_look(limits), start + seconds{11});
}

}  // namespace
}  // namespace ebb::lifecycle
