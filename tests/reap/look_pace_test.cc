#include "reap/look_pace.h"

#include <gtest/gtest.h>

namespace ebb::reap {
namespace {

using namespace std::chrono_literals;

class LookPaceTest : public testing::Test {
 protected:
  // A look now; the time from its beginning to the next one.
  base::Duration look(base::Duration took, bool hurry) {
    const base::Instant began = clock.now();
    pace.looked(began, took, 500ms, hurry);
    return pace.due() - began;
  }
  // Looks whenever one is due, for so long; the part of the time that they took.
  double share(base::Duration of, base::Duration took, bool hurry) {
    const base::Instant begin = clock.now();
    base::Duration spent{};
    while (clock.now() < begin + of) {
      look(took, hurry);
      spent += took;
      clock.set(pace.due());
    }
    return static_cast<double>(spent.count()) / static_cast<double>((clock.now() - begin).count());
  }

  base::FakeClock clock;
  LookPace pace;
};

TEST_F(LookPaceTest, LooksAsOftenAsThePolicySaysAndSoonerInAHurry) {
  EXPECT_EQ(look(2ms, false), 500ms);
  clock.set(pace.due());
  EXPECT_EQ(look(2ms, true), 100ms);
  clock.set(pace.due());
  EXPECT_EQ(look(2ms, false), 500ms);
}

TEST_F(LookPaceTest, SlowLooksAreMadeLessOften) {
  EXPECT_EQ(look(40ms, false), 2s);
  clock.set(pace.due());
  EXPECT_EQ(look(40ms, true), 100ms);
  clock.set(pace.due());
  EXPECT_EQ(look(80ms, true), 160ms) << "with a rest between them";
}

TEST_F(LookPaceTest, AHurryThatDoesNotEndTakesNoMoreThanItsShare) {
  for (const base::Duration took : {1ms, 5ms, 20ms, 100ms, 700ms}) {
    pace = {};
    EXPECT_LE(share(10min, took, false), 1.0 / LookPace::share + 0.001) << took.count();
    EXPECT_LE(share(10min, took, true), 2.0 / LookPace::share + 0.001) << took.count();
  }
}

TEST_F(LookPaceTest, TheCreditOfAHurryComesBack) {
  int hurried = 0;
  while (look(20ms, true) == 100ms) {
    clock.set(pace.due());
    ++hurried;
  }
  EXPECT_GE(hurried, 20) << "2 s are enough for a node";
  EXPECT_EQ(pace.due() - clock.now(), 1s) << "spent";
  clock.set(pace.due());
  share(30s, 20ms, false);
  EXPECT_EQ(look(20ms, true), 100ms);
}

}  // namespace
}  // namespace ebb::reap
