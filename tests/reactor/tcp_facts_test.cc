// What the kernel tells of a connection beside its bytes, and in which order it ended.
#include <linux/filter.h>
#include <sys/socket.h>

#include "reactor/fixture.h"

namespace ebb::reactor {
namespace {

using base::Cause;

class TcpFactsTest : public ReactorTest {
 protected:
  // A connection that we opened, and its other end.
  Pair connect_one() {
    Pair pair;
    const Descriptor listener = plain_listen(address_);
    pair.ours = &connect(address_);
    run_until([&] { return pair.ours->connected == 1; });
    pair.peer = plain_accept(listener.get());
    return pair;
  }
};

// Packets for this socket are lost: neither read nor answered.
void swallow_packets(int socket) {
  sock_filter drop[] = {{.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = 0}};
  const sock_fprog program = {.len = 1, .filter = drop};
  ASSERT_EQ(::setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)), 0);
}

void reset(Descriptor& socket) {
  const linger now = {.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  socket = Descriptor();
}

TEST_P(TcpFactsTest, AcknowledgedAreTheBytesThatArrivedAndNotTheHandshake) {
  auto [peer, ours] = connect_one();
  EXPECT_EQ(reactor_->tcp_facts(ours->id)->acknowledged, 0u);
  send(*ours, "ten bytes.");
  run_until([&] { return reactor_->tcp_facts(ours->id)->acknowledged == 10; });
  auto [other_peer, accepted] = accept_one();
  send(*accepted, "seven b");
  run_until([&] { return reactor_->tcp_facts(accepted->id)->acknowledged == 7; });
}

TEST_P(TcpFactsTest, APeerThatSwallowsEverythingShowsAsTimeoutsWithoutAcknowledgement) {
  auto [peer, ours] = connect_one();
  send(*ours, "heard");
  run_until([&] { return reactor_->tcp_facts(ours->id)->acknowledged == 5; });
  swallow_packets(peer.get());
  send(*ours, "unheard");
  run_until([&] { return reactor_->tcp_facts(ours->id)->timeouts >= 2; });
  const TcpFacts facts = *reactor_->tcp_facts(ours->id);
  EXPECT_EQ(facts.acknowledged, 5u);
  EXPECT_GT(facts.unacknowledged, 0u);
  EXPECT_GT(facts.silence, facts.timeout / 2);
}

TEST_P(TcpFactsTest, APeerThatIsAskedAnswersWhateverItsProcessDoes) {
  auto [peer, ours] = connect_one();  // which reads nothing
  run_until([&] { return reactor_->tcp_facts(ours->id)->silence > std::chrono::milliseconds{1200}; });
  reactor_->ask_peer(ours->id, true);
  run_until([&] { return reactor_->tcp_facts(ours->id)->silence < std::chrono::milliseconds{1000}; });
  EXPECT_EQ(reactor_->tcp_facts(ours->id)->probes, 0u);
  reactor_->ask_peer(ours->id, false);
}

TEST_P(TcpFactsTest, APeerThatIsGoneLeavesProbesUnanswered) {
  auto [peer, ours] = connect_one();
  swallow_packets(peer.get());
  reactor_->ask_peer(ours->id, true);
  run_until([&] { return reactor_->tcp_facts(ours->id)->probes > 0; });
  EXPECT_EQ(reactor_->tcp_facts(ours->id)->unacknowledged, 0u);
}

TEST_P(TcpFactsTest, AClosedSocketHasNone) {
  auto [peer, ours] = connect_one();
  reactor_->close(ours->id, CloseMode::drop);
  EXPECT_FALSE(reactor_->tcp_facts(ours->id).has_value());
}

TEST_P(TcpFactsTest, AFinThatCrossedOurBytesIsTheProofThatTheyDidNotArrive) {
  auto [peer, ours] = connect_one();
  reactor_->receive(ours->id, Receive::watchful);
  peer = Descriptor();
  send(*ours, "nobody reads this");
  run_until([&] { return ours->peer_finished == 1 || !ours->failures.empty(); });
  EXPECT_TRUE(ours->failures.empty() || peer_had_finished(ours->failures[0]));
  EXPECT_EQ(reactor_->tcp_facts(ours->id)->acknowledged, 0u);
}

TEST_P(TcpFactsTest, AResetBehindTheFinIsToldAsOneAlsoWhilePaused) {
  auto [peer, ours] = connect_one();
  reactor_->receive(ours->id, Receive::paused);
  run_rounds(2);
  peer = Descriptor();
  send(*ours, "nobody reads this");
  run_until([&] { return !ours->failures.empty(); });
  EXPECT_TRUE(peer_had_finished(ours->failures[0]));
  EXPECT_EQ(ours->failures[0].cause, Cause::backend_closed);
  EXPECT_EQ(reactor_->tcp_facts(ours->id)->acknowledged, 0u);
}

TEST_P(TcpFactsTest, ASendBehindFinAndResetTellsOfTheFin) {
  auto [peer, ours] = connect_one();
  reactor_->receive(ours->id, Receive::watchful);
  peer = Descriptor();
  send(*ours, "makes the reset");
  run_until([&] { return ours->peer_finished == 1 || !ours->failures.empty(); });
  send(*ours, "finds it");
  run_until([&] { return !ours->failures.empty(); });
  EXPECT_TRUE(peer_had_finished(ours->failures[0]));
}

TEST_P(TcpFactsTest, AResetAloneProvesNoFin) {
  for (const Receive mode : {Receive::watchful, Receive::piecewise, Receive::bulk, Receive::paused}) {
    auto [peer, ours] = connect_one();
    reactor_->receive(ours->id, mode);
    run_rounds(2);
    reset(peer);
    run_until([&] { return !ours->failures.empty(); });
    EXPECT_FALSE(peer_had_finished(ours->failures[0]));
    EXPECT_EQ(ours->failures[0].cause, Cause::backend_reset);
    EXPECT_EQ(ours->peer_finished, 0);
  }
}

TEST_P(TcpFactsTest, AResetProvesNoFinToASendThatMeetsItEither) {
  for (const Receive mode : {Receive::watchful, Receive::piecewise, Receive::bulk, Receive::paused}) {
    auto [peer, ours] = connect_one();
    reactor_->receive(ours->id, mode);
    run_rounds(2);
    reset(peer);
    send(*ours, "first");
    send(*ours, "second");
    run_until([&] { return !ours->failures.empty(); });
    EXPECT_FALSE(peer_had_finished(ours->failures[0]));
    EXPECT_EQ(ours->peer_finished, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Reactors, TcpFactsTest, testing::Values(Kind::epoll, Kind::uring),
                         [](const auto& kind) { return kind.param == Kind::epoll ? "Epoll" : "Uring"; });

}  // namespace
}  // namespace ebb::reactor
