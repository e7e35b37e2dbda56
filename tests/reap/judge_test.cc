#include "reap/judge.h"

#include <gtest/gtest.h>

#include "reap/builders.h"

namespace ebb::reap {
namespace {

using census::State;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr const char* living = "10.1.0.5:8443";
constexpr const char* leaving = "10.1.0.6:8443";
constexpr const char* gone = "10.1.0.7:8443";
constexpr const char* removed = "10.1.0.8:8443";

class JudgeTest : public testing::Test {
 protected:
  JudgeTest() {
    endpoints_.know(truth_of({endpoint(living), endpoint(leaving, Presence::leaving), endpoint(gone, Presence::gone)}),
                    clock_.now());
  }
  std::optional<Ground> judged(const census::Socket& socket) const {
    const auto finding = judge(socket, {}, grounds_, endpoints_, clock_.now());
    return finding ? std::optional(finding->ground) : std::nullopt;
  }

  base::FakeClock clock_;
  Endpoints endpoints_;
  Grounds grounds_;
};

// Data that nobody acknowledges: `count` time-outs, for `ms` so far.
census::Socket silent(const char* real_peer, std::uint32_t count, std::uint32_t ms) {
  census::Socket socket = census::stalled(count, ms, 200U << count, 100);
  socket.peer = address("10.96.0.1:443");
  socket.real_peer = address(real_peer);
  return socket;
}

TEST_F(JudgeTest, TheListDecides) {
  EXPECT_EQ(judged(pinned(living)), std::nullopt);
  EXPECT_EQ(judged(pinned(leaving)), std::nullopt);
  EXPECT_EQ(judged(pinned(gone)), Ground::listed_gone);
  EXPECT_EQ(judged(pinned(removed)), Ground::removed);
  clock_.advance(seconds{30});
  EXPECT_EQ(judged(pinned(leaving)), Ground::grace_over);
  EXPECT_EQ(judged(pinned(living)), std::nullopt);
}

TEST_F(JudgeTest, NotIfThePolicySaysSo) {
  grounds_.removed = false;
  for (const char* const peer : {living, leaving, gone, removed}) EXPECT_EQ(judged(pinned(peer)), std::nullopt);
}

TEST_F(JudgeTest, WhoLeavesAndStillAnswersIsLeftToDrain) {
  EXPECT_EQ(judged(silent(leaving, silent_time_outs - 1, 600)), std::nullopt);
  EXPECT_EQ(judged(silent(leaving, silent_time_outs, 1400)), Ground::leaving_silent);
  EXPECT_EQ(judged(silent(living, silent_time_outs, 1400)), std::nullopt);
}

TEST_F(JudgeTest, OnlyWhatAProgramHoldsAndWaitsOn) {
  struct Case {
    State state;
    bool ended;
  };
  for (const Case& each : {Case{State::established, true}, Case{State::syn_sent, true}, Case{State::close_wait, true},
                           Case{State::fin_wait1, true}, Case{State::fin_wait2, true}, Case{State::listen, false},
                           Case{State::time_wait, false}, Case{State::syn_recv, false},
                           Case{State::new_syn_recv, false}, Case{State::last_ack, false}, Case{State::closing, false},
                           Case{State::closed, false}, Case{State::unknown, false}}) {
    census::Socket socket = pinned(gone);
    socket.state = each.state;
    EXPECT_EQ(judged(socket).has_value(), each.ended) << name(each.state);
    socket.inode = 0;
    EXPECT_EQ(judged(socket), std::nullopt) << name(each.state);
  }
}

TEST_F(JudgeTest, SilenceIsAGroundOnlyWithALimitAndBeyondIt) {
  EXPECT_EQ(judged(silent(living, 9, 100'000)), std::nullopt);
  grounds_.unanswered = seconds{10};
  EXPECT_EQ(judged(silent(living, 5, 9'999)), std::nullopt);
  EXPECT_EQ(judged(silent(living, 5, 10'000)), Ground::unanswered);
  EXPECT_EQ(judged(pinned(living)), std::nullopt);
}

TEST_F(JudgeTest, AnAcknowledgementSinceThenIsNoSilence) {
  grounds_.unanswered = seconds{10};
  census::Socket socket = silent(living, 5, 20'000);
  socket.last_acknowledged_ms = 400;
  EXPECT_EQ(judged(socket), std::nullopt);
}

TEST_F(JudgeTest, OneTimeOutIsNoSilenceHoweverLongItTook) {
  grounds_.unanswered = seconds{10};
  EXPECT_EQ(judged(silent(living, 1, 60'000)), std::nullopt);
}

TEST_F(JudgeTest, AClosedWindowKeepaliveAndHandshakesAreNotSilence) {
  grounds_.unanswered = seconds{1};
  census::Socket window = silent(living, 8, 60'000);
  window.timer = census::Timer::persist;
  EXPECT_EQ(judged(window), std::nullopt);
  census::Socket probed = census::with_keepalive(1, 1, 9, 60'000);
  probed.timer_count = 5;
  EXPECT_EQ(judged(probed), std::nullopt);
  census::Socket opening = silent(living, 5, 60'000);
  opening.state = State::syn_sent;
  EXPECT_EQ(judged(opening), std::nullopt);
}

TEST_F(JudgeTest, IdleCountsFromTheLastDataOfEitherSide) {
  grounds_.idle = minutes{10};
  census::Socket socket = direct("10.9.0.1:5432");
  socket.last_sent_ms = 600'000;
  socket.last_received_ms = 599'999;
  EXPECT_EQ(judged(socket), std::nullopt);
  socket.last_received_ms = 900'000;
  EXPECT_EQ(judged(socket), Ground::idle);
  socket.unacknowledged = 1;
  EXPECT_EQ(judged(socket), std::nullopt);
  socket.unacknowledged = 0;
  socket.not_sent = 1;
  EXPECT_EQ(judged(socket), std::nullopt);
}

TEST_F(JudgeTest, WithoutFactsThereAreNoGroundsButTheList) {
  grounds_.idle = seconds{1};
  grounds_.unanswered = seconds{1};
  census::Socket socket = silent(living, 5, 60'000);
  socket.has_info = false;
  EXPECT_EQ(judged(socket), std::nullopt);
  EXPECT_EQ(judged(pinned(gone)), Ground::listed_gone);
}

TEST_F(JudgeTest, FindingsSayWhoAndForHowLong) {
  clock_.advance(seconds{31});
  const auto finding = judge(pinned(leaving), {}, grounds_, endpoints_, clock_.now());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->service, "shop/api");
  EXPECT_EQ(finding->ms, 1000);
}

}  // namespace
}  // namespace ebb::reap
