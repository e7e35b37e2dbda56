#include "census/give_up.h"

#include <gtest/gtest.h>

#include "builders.h"

namespace ebb::census {
namespace {

// Ticks come late, by what the timer wheel rounds: about 3 %.
void expect_about(std::int64_t expected_ms, const GiveUp& ends) {
  ASSERT_TRUE(ends.in_ms);
  EXPECT_GE(*ends.in_ms, expected_ms);
  EXPECT_LE(*ends.in_ms, expected_ms + std::max<std::int64_t>(40, expected_ms / 20));
}

TEST(GiveUp, TheModelGivesTheTimesThatTheDocumentationOfLinuxNames) {
  EXPECT_EQ(model_ms(15, 200, 120'000), 924'600);
  EXPECT_EQ(model_ms(9, 200, 120'000), 204'600);
  EXPECT_EQ(model_ms(8, 200, 120'000), 102'200);
  EXPECT_EQ(model_ms(6, 200, 120'000), 25'400);
  EXPECT_EQ(model_ms(5, 200, 120'000), 12'600);
  EXPECT_EQ(model_ms(15, 200, 1000), 14'400);
  EXPECT_EQ(model_ms(6, 1000, 120'000), 127'000);
}

TEST(GiveUp, OfDefaultLinuxTheBudgetIsFifteenMinutes) { EXPECT_EQ(retry_budget_ms(established(), {}), 924'600); }

TEST(GiveUp, DataThatIsNotAcknowledgedIsRetriedUntilTheFirstTickBehindTheBudget) {
  // Linux 6.18 took 937.8 s from its first time-out: 0.4, 0.8, ... 102.4 s, then six times 120 s, all a little late.
  const GiveUp ends = give_up(stalled(0, 0, 204, 204), {});
  EXPECT_EQ(ends.ending, Ending::retransmissions);
  EXPECT_NEAR(static_cast<double>(*ends.in_ms), 937'800 + 204, 5'000);
}

TEST(GiveUp, TheTimerWheelRoundsUp) {
  EXPECT_EQ(fires_after_ms(200), 202);
  EXPECT_EQ(fires_after_ms(400), 416);
  EXPECT_EQ(fires_after_ms(120'000), 121'024);
}

TEST(GiveUp, OfTheMeasuredStallTheRestIsLeft) {
  // retries2 = 6: 25.4 s from the first time-out; ticks at .4 1.2 2.8 6.0 12.4 25.2, late enough.
  const Limits limits{.retries2 = 6};
  expect_about(1400 + 12'800, give_up(stalled(5, 11'000, 6400, 1400), limits));
  expect_about(25'200 - 100, give_up(stalled(1, 100, 400, 300), limits));
}

TEST(GiveUp, WithoutTheKernelsOwnMeasureTheStallIsAddedUp) {
  Socket socket = stalled(5, 11'000, 6400, 1400);
  socket.stalls = 7;  // earlier stalls are in the sum
  socket.stalled_ms = 60'000;
  // .4 .8 1.6 3.2 have passed, and 5 s of 6.4
  EXPECT_EQ(stalled_ms(socket, {}), 11'000);
}

TEST(GiveUp, UserTimeoutOverridesTheRetriesBothWays) {
  Socket socket = stalled(2, 1000, 800, 400);
  socket.options.user_timeout_ms = 5000;
  GiveUp ends = give_up(socket, {});
  EXPECT_EQ(ends.ending, Ending::user_timeout);
  expect_about(4000, ends);
  socket.options.user_timeout_ms = 2'000'000;
  expect_about(1'999'000, give_up(socket, {}));
  socket.options.user_timeout_ms = 500;  // set late: the timer that runs is waited for
  expect_about(400, give_up(socket, {}));
}

TEST(GiveUp, ASmallRtoMaximumShortensTheBudget) {
  Socket socket = stalled(0, 0, 200, 200);
  socket.options.rto_max_ms = 1000;
  EXPECT_EQ(retry_budget_ms(socket, {}), 14'400);
  // ticks after the first: .4 1.2 2.2 3.2 ... 14.2, late enough
  expect_about(200 + 14'200, give_up(socket, {}));
}

TEST(GiveUp, WhatNoProgramHoldsIsRetriedEightTimes) {
  Socket socket = stalled(0, 0, 200, 200);
  socket.state = State::fin_wait1;
  socket.inode = 0;
  EXPECT_EQ(retry_budget_ms(socket, {}), 102'200);
  EXPECT_EQ(retry_budget_ms(socket, {.orphan_retries = 3}), model_ms(3, 200, 120'000));
}

TEST(GiveUp, AnIdleConnectionWithoutKeepaliveIsNeverGivenUp) {
  const GiveUp ends = give_up(established(1'000'000), {});
  EXPECT_EQ(ends.ending, Ending::never);
  EXPECT_FALSE(ends.in_ms);
}

TEST(GiveUp, KeepaliveEndsAfterItsLastProbe) {
  expect_about(300'000, give_up(with_keepalive(30, 30, 9, 0), {}));
  expect_about(280'000, give_up(with_keepalive(30, 30, 9, 20'000), {}));
  Socket socket = with_keepalive(30, 30, 9, 80'000);
  socket.timer_count = 2;
  socket.timer_ms = 10'000;
  expect_about(10'000 + 7 * 30'000, give_up(socket, {}));
}

TEST(GiveUp, TheKeepaliveTimerIsLazy) {
  Socket socket = with_keepalive(30, 10, 3, 5'000);
  socket.timer_ms = 1'000;  // only looks, and finds 6 s of silence
  expect_about(25'000 + 30'000, give_up(socket, {}));
}

TEST(GiveUp, WithUserTimeoutTheNumberOfProbesDoesNotCount) {
  Socket socket = with_keepalive(2, 1, 3, 0);
  socket.options.user_timeout_ms = 10'000;
  expect_about(10'000, give_up(socket, {}));
  socket.options.user_timeout_ms = 1'000;  // never before the first tick behind a probe
  expect_about(3'000, give_up(socket, {}));
}

TEST(GiveUp, ASynIsRepeatedInALineAndThenDoubling) {
  Socket socket{.state = State::syn_sent, .timer = Timer::retransmit, .timer_ms = 1000, .inode = 5};
  socket.options = {.known = true, .syn_retries = 6};
  expect_about(131'000, give_up(socket, {}));
  socket.timer_count = 5;  // the sixth tick, that at 7 s, is next
  socket.timer_ms = 500;
  expect_about(131'000 - 6'500, give_up(socket, {}));
  socket.options.syn_retries = 2;
  socket.timer_count = 0;
  socket.timer_ms = 1000;
  expect_about(7'000, give_up(socket, {}));
  EXPECT_EQ(give_up(socket, {}).ending, Ending::handshake);
  socket.options.user_timeout_ms = 3'500;
  expect_about(3'500, give_up(socket, {}));
}

TEST(GiveUp, ASynAckIsRepeatedFiveTimes) {
  const Socket socket{.state = State::syn_recv, .timer = Timer::retransmit, .timer_ms = 1000};
  expect_about(63'000, give_up(socket, {}));
}

TEST(GiveUp, ProbesOfAClosedWindowAreCounted) {
  Socket socket = established();
  socket.timer = Timer::persist;
  socket.timer_ms = 200;
  const Limits limits{.retries2 = 3};
  // probes at 0.2, + .4, + .8, and the look at + 1.6
  expect_about(200 + 400 + 800 + 1600, give_up(socket, limits));
  EXPECT_EQ(give_up(socket, limits).ending, Ending::zero_window);
}

TEST(GiveUp, SaysWhenOptionsAreAssumed) {
  Socket socket = stalled(0, 0, 200, 200);
  EXPECT_FALSE(give_up(socket, {}).assumed);
  socket.options.known = false;
  EXPECT_TRUE(give_up(socket, {}).assumed);
  const Socket waiting{.state = State::time_wait, .timer = Timer::time_wait, .timer_ms = 42'000};
  EXPECT_FALSE(give_up(waiting, {}).assumed);
  expect_about(42'000, give_up(waiting, {}));
}

TEST(GiveUp, AbsurdNumbersEndToo) {
  Socket socket = stalled(255, ~0U, ~0U / 1000, ~0U);
  socket.options.user_timeout_ms = ~0U;
  socket.options.rto_max_ms = 1;
  for (const Timer timer : {Timer::none, Timer::retransmit, Timer::keepalive, Timer::persist, Timer::time_wait}) {
    for (std::size_t state = 1; state < state_names.size(); ++state) {
      socket.timer = timer;
      socket.state = static_cast<State>(state);
      const Limits limits{.retries2 = 200, .syn_retries = 127, .rto_max_ms = 1, .keepalive_interval_s = 0};
      give_up(socket, limits);
    }
  }
}

}  // namespace
}  // namespace ebb::census
