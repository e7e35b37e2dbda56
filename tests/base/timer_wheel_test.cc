#include "base/timer_wheel.h"

#include <gtest/gtest.h>

#include <deque>
#include <set>

#include "base/rng.h"

namespace ebb::base {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const Instant start{hours{1000}};

// The wheel beside a reference that looks at every timer.
class TimerWheelTest : public testing::Test {
 protected:
  Timer& make() {
    const auto number = static_cast<std::uint32_t>(timers_.size());
    return timers_.emplace_back(Owner{0, {number, 1}});
  }
  void arm_in(Timer& timer, Duration delay) { wheel_.arm(timer, clock_.now() + delay); }
  std::vector<std::uint32_t> advance(Duration by) {
    clock_.advance(by);
    std::vector<std::uint32_t> fired;
    wheel_.advance(clock_.now(), [&](Owner owner) { fired.push_back(owner.handle.slot); });
    return fired;
  }

  FakeClock clock_ = [] {
    FakeClock clock;
    clock.set(start);
    return clock;
  }();
  TimerWheel wheel_{start};
  std::deque<Timer> timers_;
};

using Fired = std::vector<std::uint32_t>;

TEST_F(TimerWheelTest, FiresOnceAndNeverEarly) {
  Timer& timer = make();
  arm_in(timer, microseconds{1500});
  EXPECT_EQ(advance(microseconds{1499}), Fired{});
  EXPECT_TRUE(timer.armed());
  EXPECT_EQ(advance(microseconds{501}), Fired{0});
  EXPECT_FALSE(timer.armed());
  EXPECT_EQ(advance(hours{10}), Fired{});
}

TEST_F(TimerWheelTest, HasNothingToWakeForWhenNothingIsArmed) {
  EXPECT_EQ(wheel_.next_wake(), Instant::max());
  Timer& timer = make();
  arm_in(timer, seconds{1});
  EXPECT_LE(wheel_.next_wake(), clock_.now() + seconds{1});
  timer.disarm();
  EXPECT_EQ(wheel_.next_wake(), Instant::max());
}

TEST_F(TimerWheelTest, FiresInOrderOfDeadlines) {
  for (const int delay : {5000, 3, 70, 4096, 64, 300'000}) arm_in(make(), milliseconds{delay});
  EXPECT_EQ(advance(minutes{10}), (Fired{1, 4, 2, 3, 0, 5}));
}

TEST_F(TimerWheelTest, FollowsALaterDeadlineWithoutFiringAtTheOldOne) {
  Timer& timer = make();
  arm_in(timer, seconds{1});
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(advance(milliseconds{700}), Fired{});
    arm_in(timer, seconds{1});
  }
  EXPECT_EQ(advance(milliseconds{999}), Fired{});
  EXPECT_EQ(advance(milliseconds{1}), Fired{0});
}

TEST_F(TimerWheelTest, FollowsAnEarlierDeadline) {
  Timer& timer = make();
  arm_in(timer, hours{1});
  arm_in(timer, milliseconds{5});
  EXPECT_EQ(advance(milliseconds{5}), Fired{0});
  EXPECT_EQ(advance(hours{2}), Fired{});
}

TEST_F(TimerWheelTest, FiresAPastDeadlineAtTheNextTick) {
  arm_in(make(), seconds{-5});
  EXPECT_EQ(advance(milliseconds{1}), Fired{0});
}

TEST_F(TimerWheelTest, HoldsDeadlinesBeyondItsReach) {
  arm_in(make(), hours{100});
  EXPECT_EQ(advance(hours{99} + minutes{59}), Fired{});
  EXPECT_EQ(advance(minutes{1}), Fired{0});
}

TEST_F(TimerWheelTest, NeverFiresADeadlineAtTheEndOfTime) {
  TimerWheel wheel{Instant{}};
  wheel.arm(make(), Instant::max());
  wheel.arm(make(), Instant::max() - Duration{1});
  wheel.advance(Instant{hours{1000}}, [](Owner) { FAIL(); });
}

TEST_F(TimerWheelTest, ForgetsATimerThatDies) {
  {
    Timer timer;
    arm_in(timer, seconds{1});
  }
  EXPECT_EQ(wheel_.next_wake(), Instant::max());
  EXPECT_EQ(advance(seconds{2}), Fired{});
}

TEST_F(TimerWheelTest, LetsACallbackDisarmATimerOfTheSameTick) {
  Timer& first = make();
  Timer& second = make();
  arm_in(first, milliseconds{10});
  arm_in(second, milliseconds{10});
  clock_.advance(milliseconds{10});
  int fired = 0;
  wheel_.advance(clock_.now(), [&](Owner) {
    fired += 1;
    second.disarm();
  });
  EXPECT_EQ(fired, 1);
}

TEST_F(TimerWheelTest, LetsACallbackPutOffATimerOfTheSameTick) {
  Timer& first = make();
  Timer& second = make();
  arm_in(first, milliseconds{10});
  arm_in(second, milliseconds{10});
  clock_.advance(milliseconds{10});
  Fired fired;
  wheel_.advance(clock_.now(), [&](Owner owner) {
    fired.push_back(owner.handle.slot);
    arm_in(second, milliseconds{1});
  });
  EXPECT_EQ(fired, Fired{0});
  EXPECT_EQ(advance(milliseconds{1}), Fired{1});
}

TEST_F(TimerWheelTest, LetsACallbackArmItsOwnTimerAgain) {
  Timer& timer = make();
  arm_in(timer, milliseconds{10});
  int fired = 0;
  for (int tick = 0; tick < 1000; ++tick) {
    clock_.advance(milliseconds{1});
    wheel_.advance(clock_.now(), [&](Owner) {
      fired += 1;
      arm_in(timer, milliseconds{10});
    });
  }
  EXPECT_EQ(fired, 100);
}

TEST_F(TimerWheelTest, FiresATimerThatIsArmedForNowOnceAfterALongPause) {
  Timer& timer = make();
  arm_in(timer, milliseconds{1});
  clock_.advance(seconds{10});
  int fired = 0;
  wheel_.advance(clock_.now(), [&](Owner) {
    fired += 1;
    arm_in(timer, Duration{0});
  });
  EXPECT_EQ(fired, 1) << "a callback must not be called again for each tick of the pause";
  EXPECT_EQ(advance(milliseconds{1}), Fired{0});
}

// Hours of fake time, steps from microseconds to hours, against a reference that looks at each timer.
TEST_F(TimerWheelTest, AgreesWithASortedReferenceOverRandomUse) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng(seed);
    TimerWheel wheel(start);
    std::deque<Timer> timers;
    std::vector<std::int64_t> due(100, INT64_MAX);  // the first tick at which the timer may and must fire
    for (std::uint32_t i = 0; i < due.size(); ++i) timers.emplace_back(Owner{0, {i, 1}});
    Instant now = start;
    const auto tick = [&] { return (now - start) / milliseconds{1}; };
    const auto random_delay = [&] {
      constexpr Duration most[] = {milliseconds{3}, milliseconds{100}, seconds{5}, minutes{10}, hours{7}};
      return Duration{static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(most[rng.below(5)].count())))};
    };
    for (int step = 0; step < 3000; ++step) {
      for (std::uint64_t changes = rng.below(4); changes > 0; --changes) {
        const std::uint64_t i = rng.below(due.size());
        if (rng.chance(100)) {
          timers[i].disarm();
          due[i] = INT64_MAX;
          continue;
        }
        const Instant deadline = now + random_delay() - (rng.chance(20) ? Duration{seconds{1}} : Duration{0});
        wheel.arm(timers[i], deadline);
        const Duration since = deadline - start;
        const std::int64_t rounded = since / milliseconds{1} + (since % milliseconds{1} > Duration{0} ? 1 : 0);
        due[i] = std::max(rounded, tick() + 1);
      }
      const std::int64_t earliest = *std::min_element(due.begin(), due.end());
      if (earliest == INT64_MAX) {
        ASSERT_EQ(wheel.next_wake(), Instant::max());
      } else {
        ASSERT_LE(wheel.next_wake(), start + milliseconds{earliest}) << "late; seed " << seed << " step " << step;
        ASSERT_GT(wheel.next_wake(), start + milliseconds{tick()}) << "would spin";
      }
      now = rng.chance(400) && earliest != INT64_MAX ? wheel.next_wake() : now + random_delay();
      std::set<std::uint32_t> expected;
      for (std::uint32_t i = 0; i < due.size(); ++i) {
        if (due[i] <= tick()) expected.insert(i);
      }
      std::set<std::uint32_t> fired;
      wheel.advance(now, [&](Owner owner) { ASSERT_TRUE(fired.insert(owner.handle.slot).second) << "fired twice"; });
      ASSERT_EQ(fired, expected) << "seed " << seed << " step " << step;
      for (const std::uint32_t i : fired) due[i] = INT64_MAX;
    }
  }
}

}  // namespace
}  // namespace ebb::base
