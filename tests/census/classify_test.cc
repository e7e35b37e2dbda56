#include "census/classify.h"

#include <gtest/gtest.h>

#include <set>

#include "builders.h"
#include "census/hosts.h"

namespace ebb::census {
namespace {

Reason reason_of(const Socket& socket, const Surroundings& surroundings = {}) {
  return classify(socket, {}, {}, surroundings).reason;
}

Socket in_state(State state, std::int64_t quiet_ms = 0) {
  Socket socket = established(quiet_ms);
  socket.state = state;
  return socket;
}

Socket persisting(std::uint32_t probes) {
  Socket socket = established(5000);
  socket.timer = Timer::persist;
  socket.timer_count = probes;
  return socket;
}

Socket probing(std::uint32_t probes) {
  Socket socket = with_keepalive(5, 5, 9, 20'000);
  socket.timer_count = probes;
  return socket;
}

Socket calling(std::uint32_t time_outs) {
  Socket socket = in_state(State::syn_sent);
  socket.timer = Timer::retransmit;
  socket.timer_count = time_outs;
  return socket;
}

Socket closing_unanswered(State state, std::uint32_t time_outs) {
  Socket socket = stalled(time_outs, 3000, 800, 100);
  socket.state = state;
  return socket;
}

Socket nobodys(Socket socket) {
  socket.inode = 0;
  return socket;
}

struct Example {
  const char* what;
  Socket socket;
  Reason reason;
};

const std::vector<Example>& examples() {
  using enum Reason;
  static const std::vector<Example> table = {
      {"listener", in_state(State::listen), listening},
      {"time-wait", Socket{.state = State::time_wait, .timer = Timer::time_wait, .timer_ms = 100}, kernel_ends_it},
      {"fin-wait-2 of the kernel", Socket{.state = State::fin_wait2, .timer = Timer::time_wait, .timer_ms = 100},
       kernel_ends_it},
      {"data a moment ago", established(500), data_flows},
      {"one time-out is nothing", stalled(1, 100, 400, 300), data_flows},
      {"two are", stalled(2, 700, 800, 300), data_unanswered},
      {"a large queue moves on",
       [] {
         Socket s = established(60'000);
         s.not_sent = 9;
         return s;
       }(),
       data_flows},
      {"syn", calling(0), opening},
      {"syn again", calling(2), syn_unanswered},
      {"fin-wait-1", closing_unanswered(State::fin_wait1, 0), kernel_ends_it},
      {"fin-wait-1 unanswered", closing_unanswered(State::fin_wait1, 3), fin_unanswered},
      {"last-ack unanswered", nobodys(closing_unanswered(State::last_ack, 3)), fin_unanswered},
      {"window probes answered", persisting(0), data_flows},
      {"window probes unanswered", persisting(2), window_unanswered},
      {"one keepalive probe", probing(1), idle_keepalive},
      {"keepalive probes", probing(2), probes_unanswered},
      {"in the queue of a listener", nobodys(established(500)), unaccepted},
      {"closed by its peer in that queue", nobodys(in_state(State::close_wait, 500)), unaccepted},
      {"in that queue for long", nobodys(established(61'000)), never_accepted},
      {"fin-wait-2 that nobody holds", nobodys(in_state(State::fin_wait2, 500)), kernel_ends_it},
      {"close-wait, new", in_state(State::close_wait, 2000), half_closed},
      {"close-wait, old", in_state(State::close_wait, 61'000), never_closed},
      {"fin-wait-2, new", in_state(State::fin_wait2, 2000), half_closed},
      {"fin-wait-2, held and old", in_state(State::fin_wait2, 61'000), peer_never_closes},
      {"quiet", established(20'000), idle_bare},
      {"quiet with keepalive", with_keepalive(30, 10, 3, 20'000), idle_keepalive},
      {"long quiet", established(301'000), outlives_limit},
      {"long quiet, keepalive of two hours", with_keepalive(7200, 75, 9, 301'000), outlives_limit},
      {"long quiet, good keepalive", with_keepalive(60, 10, 3, 301'000), idle_keepalive},
      {"long quiet on loopback",
       [] {
         Socket s = established(301'000);
         s.peer = address("127.0.0.1:80");
         return s;
       }(),
       idle_bare},
  };
  return table;
}

TEST(SocketClass, FollowsTheTable) {
  for (const Example& example : examples()) EXPECT_EQ(reason_of(example.socket), example.reason) << example.what;
}

TEST(SocketClass, WhatTheOthersKnowComesFirst) {
  EXPECT_EQ(reason_of(established(), {.peer_removed = true}), Reason::peer_removed);
  EXPECT_EQ(reason_of(stalled(3, 1000, 800, 1), {.host_silent = true}), Reason::host_silent);
  EXPECT_EQ(reason_of(established(), {.only_grows = true}), Reason::only_grows);
  EXPECT_EQ(reason_of(in_state(State::close_wait, 90'000), {.only_grows = true}), Reason::never_closed);
}

TEST(SocketClass, EveryReasonHasWordsAndCanBeReached) {
  std::set<Reason> reached = {Reason::peer_removed, Reason::host_silent, Reason::only_grows};
  for (const Example& example : examples()) reached.insert(example.reason);
  for (std::size_t i = 0; i <= static_cast<std::size_t>(Reason::idle_bare); ++i) {
    const auto reason = static_cast<Reason>(i);
    EXPECT_TRUE(reached.contains(reason)) << i;
    EXPECT_FALSE(facts(reason).why.empty());
    const SocketClass socket_class = facts(reason).socket_class;
    if (socket_class < SocketClass::idle) EXPECT_FALSE(facts(reason).remedy.empty()) << facts(reason).why;
  }
}

TEST(Hosts, OneSocketIsNoProof) {
  const Sample sample = sample_of({stalled(5, 5000, 6400, 100)});
  EXPECT_FALSE(Hosts(sample).silent(sample.sockets[0]));
}

TEST(Hosts, TwoThatStallProveItAlsoForTheIdle) {
  const Sample sample = sample_of({stalled(5, 11'000, 6400, 1400), stalled(4, 5000, 3200, 100), established(60'000)});
  const Hosts hosts(sample);
  for (const Socket& socket : sample.sockets) EXPECT_TRUE(hosts.silent(socket));
}

TEST(Hosts, AnAnswerSinceThenDisprovesIt) {
  const Sample sample = sample_of({stalled(5, 11'000, 6400, 1400), stalled(4, 5000, 3200, 100), established(1000)});
  EXPECT_FALSE(Hosts(sample).silent(sample.sockets[0]));
}

TEST(Hosts, TheRealPeerCounts) {
  Socket one = stalled(5, 11'000, 6400, 1400);
  Socket other = stalled(4, 5000, 3200, 100);
  one.real_peer = address("10.9.0.1:1");
  other.real_peer = address("10.9.0.2:1");
  Sample sample = sample_of({one, other});
  EXPECT_FALSE(Hosts(sample).silent(sample.sockets[0]));
  sample.sockets[1].real_peer = address("10.9.0.1:2");
  EXPECT_TRUE(Hosts(sample).silent(sample.sockets[0]));
}

}  // namespace
}  // namespace ebb::census
