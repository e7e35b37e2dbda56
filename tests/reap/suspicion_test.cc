#include "reap/suspicion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "census/builders.h"

namespace ebb::reap {
namespace {

using namespace std::chrono_literals;
using census::address;
using census::established;
using census::Socket;
using census::stalled;
using testing::IsEmpty;
using News = Suspicion::News;

std::string no_names(const base::Address&) { return ""; }

Socket to(std::string_view peer, Socket socket) {
  socket.peer = address(peer);
  return socket;
}

// Of the node at 10.0.0.2.
NodeEvidence evidence(std::vector<Socket> sockets) {
  for (const NodeEvidence& each : gather_evidence(census::sample_of(std::move(sockets)), no_names)) {
    if (each.node == "10.0.0.2") return each;
  }
  return {};
}

TEST(NodeEvidence, IsSilenceOfAllThatWasAskedAndOfAtLeastTwo) {
  struct Case {
    const char* what;
    bool silent;
    std::vector<Socket> sockets;
  };
  const Socket two = stalled(2, 450, 800, 350);  // two time-outs
  Socket accepted = two;
  accepted.local = address("10.0.0.1:80");
  Socket listener = established();
  listener.state = census::State::listen;
  listener.local = address("0.0.0.0:80");
  Socket probed = census::with_keepalive(4, 1, 4, 6'500);
  probed.timer_count = 2;
  Socket connecting = two;
  connecting.state = census::State::syn_sent;
  Socket behind_service = to("10.96.0.1:443", two);
  behind_service.real_peer = address("10.0.0.2:8443");
  const Case cases[] = {
      {"two with two time-outs each", true, {two, two}},
      {"one alone may be its program's fault", false, {two}},
      {"one time-out is an ordinary loss", false, {stalled(1, 0, 400, 300), stalled(1, 0, 400, 300)}},
      {"a third that has had an answer since", false, {two, two, established(100)}},
      {"a third that was quiet before", true, {two, two, established(60'000)}},
      {"a third that has only just sent", true, {two, two, stalled(0, 450, 200, 100)}},
      {"another node's silence", false, {two, to("10.0.0.3:443", two)}},
      {"another port of the same", true, {two, to("10.0.0.2:80", two)}},
      {"behind a service address", true, {two, behind_service}},
      {"clients that connected to us", false, {listener, accepted, accepted}},
      {"keepalive that is not answered", true, {two, probed}},
      {"connections that never were", false, {connecting, connecting}},
      {"on this machine", false, {to("127.0.0.1:80", two), to("127.0.0.1:80", two)}},
  };
  for (const Case& each : cases) EXPECT_EQ(evidence(each.sockets).is_silent(), each.silent) << each.what;
}

TEST(NodeEvidence, FirstTimeOutsOfTwoMayBecomeSilence) {
  const Socket one = stalled(1, 100, 400, 300);
  Socket probed = census::with_keepalive(4, 1, 4, 5'500);
  probed.timer_count = 1;
  EXPECT_TRUE(evidence({one, one}).may_become_silent());
  EXPECT_TRUE(evidence({one, stalled(2, 450, 800, 350)}).may_become_silent());
  EXPECT_FALSE(evidence({one}).may_become_silent());
  EXPECT_FALSE(evidence({one, probed, probed}).may_become_silent()) << "keepalive takes its time";
  EXPECT_FALSE(evidence({one, one, established(50)}).may_become_silent()) << "it answers";
}

TEST(NodeEvidence, KnowsHowLongAnswersHaveTaken) {
  Socket far = stalled(2, 450, 800, 350);
  far.rtt_us = 150'000;
  far.rtt_variance_us = 20'000;
  EXPECT_EQ(evidence({stalled(2, 450, 800, 350), far}).round_trip_us, 230'000);
}

TEST(NodeEvidence, IsOfNodesWhereTheirNamesAreKnown) {
  const Socket two = stalled(2, 450, 800, 350);
  const auto nodes = gather_evidence(census::sample_of({to("10.1.0.5:80", two), to("10.1.0.6:80", two)}),
                                     [](const base::Address&) { return std::string("worker-3"); });
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_EQ(nodes[0].node, "worker-3");
  EXPECT_TRUE(nodes[0].is_silent());
  EXPECT_EQ(nodes[0].witness, address("10.1.0.5:80"));
}

// The node "n", seen again and again.
class SuspicionTest : public testing::Test {
 protected:
  static NodeEvidence silent() {
    return {.node = "n", .sockets = 3, .begun = {2, 500}, .stalled = {2, 500}, .last_answer_ms = 1 << 30};
  }
  static NodeEvidence uneasy() {
    return {.node = "n", .sockets = 3, .begun = {2, 50}, .stalled = {1, 500}, .last_answer_ms = 1 << 30};
  }
  static NodeEvidence answering() { return {.node = "n", .sockets = 3, .last_answer_ms = 10}; }
  static NodeEvidence idle() { return {.node = "n", .sockets = 3, .last_answer_ms = 1 << 30}; }

  std::vector<News> look(const NodeEvidence& evidence) { return look(std::vector{evidence}); }
  std::vector<News> look(const std::vector<NodeEvidence>& nodes) {
    std::vector<News> news;
    for (const auto& change : suspicion.look(clock.now(), nodes)) news.push_back(change.news);
    return news;
  }
  std::size_t knocks() { return suspicion.take_knocks(clock.now()).size(); }
  std::optional<News> knocked(KnockResult result) {
    const auto change = suspicion.knocked(clock.now(), "n", result);
    return change ? std::optional(change->news) : std::nullopt;
  }
  void report() {
    look(silent());
    knocks();
    clock.advance(1s);
    EXPECT_EQ(knocked(KnockResult::failed), News::reported);
  }

  base::FakeClock clock;
  Suspicion suspicion;
};

TEST_F(SuspicionTest, ReportsAfterAFailedProbeAndNotBefore) {
  EXPECT_THAT(look(silent()), testing::ElementsAre(News::suspected));
  EXPECT_FALSE(suspicion.is_reported("n"));
  EXPECT_EQ(knocks(), 1U);
  clock.advance(5s);
  EXPECT_THAT(look(silent()), IsEmpty());
  EXPECT_EQ(knocks(), 0U) << "one at a time";
  EXPECT_EQ(knocked(KnockResult::failed), News::reported);
  EXPECT_TRUE(suspicion.is_reported("n"));
  EXPECT_EQ(suspicion.reported_total(), 1U);
}

TEST_F(SuspicionTest, ExcusesANodeThatAnswersTheProbeAndLooksAgainAfterAWhile) {
  look(silent());
  knocks();
  EXPECT_EQ(knocked(KnockResult::answered), News::cleared);
  clock.advance(Suspicion::excuse - 1s);
  EXPECT_THAT(look(silent()), IsEmpty());
  EXPECT_EQ(knocks(), 0U);
  clock.advance(1s);
  EXPECT_THAT(look(silent()), testing::ElementsAre(News::suspected));
  EXPECT_EQ(knocks(), 1U);
}

TEST_F(SuspicionTest, AnAnswerOnAnyConnectionClearsASuspect) {
  look(silent());
  knocks();
  clock.advance(1s);
  EXPECT_THAT(look(answering()), testing::ElementsAre(News::cleared));
  EXPECT_THAT(suspicion.records(), IsEmpty());
  EXPECT_EQ(knocked(KnockResult::failed), std::nullopt) << "its knock was overtaken";
}

TEST_F(SuspicionTest, AProbeThatCouldNotBeSentProvesNothingAndIsRepeated) {
  look(silent());
  knocks();
  EXPECT_EQ(knocked(KnockResult::inconclusive), std::nullopt);
  EXPECT_FALSE(suspicion.is_reported("n"));
  EXPECT_EQ(knocks(), 0U);
  clock.advance(Suspicion::knock_every);
  EXPECT_EQ(knocks(), 1U);
}

TEST_F(SuspicionTest, ReportedNodesAreProbedUntilTheyAnswer) {
  report();
  for (int round = 0; round < 5; ++round) {
    clock.advance(Suspicion::knock_every);
    EXPECT_EQ(knocks(), 1U);
    EXPECT_EQ(knocked(KnockResult::failed), std::nullopt);
    EXPECT_THAT(look(idle()), IsEmpty());
    EXPECT_TRUE(suspicion.is_reported("n"));
  }
  clock.advance(Suspicion::knock_every);
  knocks();
  EXPECT_EQ(knocked(KnockResult::answered), News::recovered);
  EXPECT_FALSE(suspicion.is_reported("n"));
}

TEST_F(SuspicionTest, ReportedNodesRecoverByAnAnswerOnAConnection) {
  report();
  EXPECT_THAT(look(answering()), testing::ElementsAre(News::recovered));
  EXPECT_FALSE(suspicion.is_reported("n"));
}

TEST_F(SuspicionTest, HurriesWhileTheNextLookMayDecideSomething) {
  EXPECT_FALSE(suspicion.hurries());
  look(uneasy());
  EXPECT_TRUE(suspicion.hurries()) << "first time-outs";
  look(answering());
  EXPECT_FALSE(suspicion.hurries()) << "an ordinary loss";
  look(silent());
  EXPECT_TRUE(suspicion.hurries()) << "suspected";
  knocks();
  knocked(KnockResult::answered);
  look(silent());
  EXPECT_FALSE(suspicion.hurries()) << "excused";
  clock.advance(Suspicion::excuse);
  look(silent());
  knocks();
  knocked(KnockResult::failed);
  look(silent());
  EXPECT_FALSE(suspicion.hurries()) << "reported";
}

TEST_F(SuspicionTest, ProofTakesThreePacketsAndAnswersTheirTime) {
  NodeEvidence far = silent();
  far.round_trip_us = 320'000;
  look(far);
  auto due = suspicion.take_knocks(clock.now());
  ASSERT_EQ(due.size(), 1U);
  EXPECT_EQ(due[0].times.attempts, 3U);
  EXPECT_EQ(due[0].times.patience, 320ms);
  knocked(KnockResult::failed);
  clock.advance(Suspicion::knock_every);
  due = suspicion.take_knocks(clock.now());
  ASSERT_EQ(due.size(), 1U);
  EXPECT_EQ(due[0].times.attempts, 1U) << "that it is back takes one";
}

TEST_F(SuspicionTest, AReportedNodeThatNobodyTalksToIsForgottenInTheEnd) {
  report();
  clock.advance(Suspicion::memory - 2s);
  EXPECT_THAT(look(std::vector<NodeEvidence>{}), IsEmpty());
  EXPECT_TRUE(suspicion.is_reported("n"));
  clock.advance(2s);
  EXPECT_THAT(look(std::vector<NodeEvidence>{}), testing::ElementsAre(News::forgotten));
  EXPECT_THAT(suspicion.records(), IsEmpty());
}

TEST_F(SuspicionTest, ASuspectWhoseConnectionsEndIsCleared) {
  look(silent());
  clock.advance(Suspicion::excuse);
  EXPECT_THAT(look(std::vector<NodeEvidence>{}), testing::ElementsAre(News::cleared));
}

TEST_F(SuspicionTest, FollowsABoundedNumberOfNodes) {
  std::vector<NodeEvidence> nodes(Suspicion::nodes_max + 3, silent());
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i].node = std::to_string(i);
  EXPECT_EQ(look(nodes).size(), Suspicion::nodes_max);
  EXPECT_EQ(suspicion.left_out_total(), 3U);
}

TEST(NodeMachine, EveryEventInEveryState) {
  for (std::size_t state = 0; state < NodeMachine::states; ++state) {
    for (std::size_t event = 0; event < NodeMachine::events; ++event) {
      NodeMachine machine(static_cast<NodeLife::State>(state));
      const bool has = NodeMachine::has(machine.state(), static_cast<NodeLife::Event>(event));
      EXPECT_EQ(machine.step(static_cast<NodeLife::Event>(event)).known, has);
    }
  }
}

}  // namespace
}  // namespace ebb::reap
