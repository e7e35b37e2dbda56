// Connections that behave: accepting, connecting, receiving, sending, pausing, finishing.
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "reactor/fixture.h"

namespace ebb::reactor {
namespace {

using Exchange = ReactorTest;
using namespace std::chrono_literals;

TEST_P(Exchange, AcceptsAndEchoesManyMessages) {
  auto [peer, ours] = accept_one();
  ours->on_received = [this](End& end) {
    send(end, end.received);
    end.received.clear();
  };
  std::string echoed;
  for (int i = 0; i < 100; ++i) {
    plain_send(peer.get(), "ping");
    run_until([&] { return (echoed += plain_receive(peer.get())).size() == 4u * (i + 1); });
  }
  EXPECT_EQ(ours->bytes, 400u);
  EXPECT_TRUE(ours->peer.is_loopback());
  EXPECT_NE(ours->peer.port(), 0);
  reactor_->close(ours->id, CloseMode::drop);
}

TEST_P(Exchange, ConnectsAndTalksToItsOwnListener) {
  listen();
  End& client = connect(address_);
  client.on_connected = [this](End& end) {
    reactor_->receive(end.id, Receive::watchful);
    send(end, "hello");
  };
  run_until([&] { return !recorder_->accepted.empty() && recorder_->accepted[0]->received == "hello"; });
  send(*recorder_->accepted[0], "world");
  run_until([&] { return client.received == "world"; });
  EXPECT_EQ(client.connected, 1);
}

TEST_P(Exchange, SendsWhatWasGivenBeforeTheConnectionStood) {
  listen();
  End& client = connect(address_);
  send(client, "early");
  run_until([&] { return !recorder_->accepted.empty() && recorder_->accepted[0]->received == "early"; });
  EXPECT_EQ(client.connected, 1);
}

int option(int socket, int level, int name) {
  int value = -1;
  socklen_t size = sizeof(value);
  EXPECT_EQ(::getsockopt(socket, level, name, &value, &size), 0);
  return value;
}

void expect_limits(int socket) {
  EXPECT_EQ(option(socket, IPPROTO_TCP, TCP_NODELAY), 1);
  EXPECT_EQ(option(socket, SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(option(socket, IPPROTO_TCP, TCP_KEEPIDLE), 7);
  EXPECT_EQ(option(socket, IPPROTO_TCP, TCP_KEEPINTVL), 3);
  EXPECT_EQ(option(socket, IPPROTO_TCP, TCP_KEEPCNT), 6);
  EXPECT_EQ(option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT), 17500);
}

// Descriptors are not part of the interface: the one that is connected to `peer` is found by its address.
int descriptor_facing(int peer) {
  sockaddr_in wanted{};
  socklen_t size = sizeof(wanted);
  ::getsockname(peer, reinterpret_cast<sockaddr*>(&wanted), &size);
  for (int fd = 3; fd < 1024; ++fd) {
    sockaddr_in other{};
    size = sizeof(other);
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&other), &size) == 0 && other.sin_port == wanted.sin_port) {
      return fd;
    }
  }
  return -1;
}

class Limits : public ReactorTest {
 protected:
  Limits() {
    limits_ = {.user_timeout = 17500ms, .keepalive_idle = 7s, .keepalive_interval = 3s, .keepalive_probes = 6};
  }
};

TEST_P(Limits, AcceptedSocketsInheritTheLimitsOfTheListener) {
  auto [peer, ours] = accept_one();
  expect_limits(descriptor_facing(peer.get()));
}

TEST_P(Limits, ConnectedSocketsHaveTheLimits) {
  base::Address address;
  Descriptor plain = plain_listen(address);
  End& client = connect(address);
  run_until([&] { return client.connected == 1; });
  Descriptor peer = plain_accept(plain.get());
  expect_limits(descriptor_facing(peer.get()));
}

TEST_P(Exchange, BacklogMovesWhenItIsReadAndNotWhenItGrows) {
  auto [peer, ours] = accept_one();
  const std::string piece(65536, 'x');
  base::Backlog before, after;
  // However long the kernel has taken nothing, a late acknowledgement may let it take more: then it is tried again.
  for (int tries = 0; tries < 100; ++tries) {
    std::size_t quiet = 0;
    run_until([&] {
      const base::Backlog now = reactor_->backlog(ours->id);
      quiet = now.bytes > 0 && now.moved == before.moved ? quiet + 1 : 0;
      before = now;
      if (now.bytes == 0) send(*ours, piece);
      return quiet > 50;
    });
    const base::Instant reached = reactor_->now();
    run_until([&] { return reactor_->now() > reached; });
    send(*ours, piece);
    run_rounds(5);
    after = reactor_->backlog(ours->id);
    if (after.bytes == before.bytes + piece.size()) break;  // nothing was taken
  }
  EXPECT_EQ(after.bytes, before.bytes + piece.size());
  EXPECT_EQ(after.moved, before.moved);
  run_until([&] {
    plain_receive(peer.get());
    return reactor_->backlog(ours->id).bytes == 0;
  });
  EXPECT_GT(reactor_->backlog(ours->id).moved, before.moved);
}

TEST_P(Exchange, PausedSocketLeavesBytesInTheKernelUntilThePeerBlocks) {
  recorder_->mode_when_accepted = Receive::paused;
  auto [peer, ours] = accept_one();
  const std::string piece(65536, 'x');
  std::size_t sent = 0;
  int blocked = 0;
  run_until([&] {
    const ssize_t put = ::send(peer.get(), piece.data(), piece.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put > 0) sent += static_cast<std::size_t>(put);
    blocked = put > 0 ? 0 : blocked + 1;
    return blocked > 20;
  });
  EXPECT_EQ(ours->bytes, 0u);
  EXPECT_LT(sent, std::size_t{64} << 20);
  reactor_->receive(ours->id, Receive::bulk);
  run_until([&] { return ours->bytes == sent; });
}

TEST_P(Exchange, PauseInsideACallbackHoldsAllLaterBytes) {
  auto [peer, ours] = accept_one();
  ours->keep_bytes = false;
  std::size_t paused_at = 0;
  ours->on_received = [&](End& end) {
    EXPECT_EQ(paused_at, 0u) << "received while paused";
    paused_at = end.bytes;
    reactor_->receive(end.id, Receive::paused);
  };
  const std::string piece(200000, 'y');
  std::size_t sent = 0;
  run_until([&] {
    const ssize_t put = ::send(peer.get(), piece.data() + sent, piece.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put > 0) sent += static_cast<std::size_t>(put);
    return sent == piece.size();
  });
  for (int turn = 0; ours->bytes < piece.size(); ++turn) {
    run_rounds(5);
    paused_at = 0;
    reactor_->receive(ours->id, turn % 2 == 0 ? Receive::bulk : Receive::watchful);
    run_until([&] { return paused_at != 0; });
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_EQ(ours->bytes, piece.size());
}

TEST_P(Exchange, PausingAndResumingInEachCallbackLosesNothing) {
  auto [peer, ours] = accept_one();
  ours->on_received = [&](End& end) {
    reactor_->receive(end.id, Receive::paused);
    reactor_->receive(end.id, end.bytes % 2 == 0 ? Receive::watchful : Receive::bulk);
  };
  std::string sent;
  for (int i = 0; i < 300; ++i) {
    const std::string piece(static_cast<std::size_t>(i % 17 + 1), static_cast<char>('a' + i % 26));
    plain_send(peer.get(), piece);
    sent += piece;
    run_rounds(1);
  }
  run_until([&] { return ours->bytes == sent.size(); });
  EXPECT_EQ(ours->received, sent);
}

TEST_P(Exchange, PeerFinishIsReportedAfterItsBytesAndOurOutputStillGoesOut) {
  auto [peer, ours] = accept_one();
  plain_send(peer.get(), "last words");
  ::shutdown(peer.get(), SHUT_WR);
  run_until([&] { return ours->peer_finished == 1; });
  EXPECT_EQ(ours->received, "last words");
  send(*ours, "answer");
  std::string answer;
  run_until([&] { return (answer += plain_receive(peer.get())) == "answer"; });
  run_rounds(3);
  EXPECT_EQ(ours->peer_finished, 1);
  EXPECT_TRUE(ours->failures.empty());
}

TEST_P(Exchange, PeerFinishWaitsForTheEndOfAPause) {
  recorder_->mode_when_accepted = Receive::paused;
  auto [peer, ours] = accept_one();
  plain_send(peer.get(), "bytes");
  ::shutdown(peer.get(), SHUT_WR);
  run_rounds(5);
  EXPECT_EQ(ours->peer_finished, 0);
  EXPECT_EQ(ours->bytes, 0u);
  reactor_->receive(ours->id, Receive::watchful);
  run_until([&] { return ours->peer_finished == 1; });
  EXPECT_EQ(ours->received, "bytes");
}

TEST_P(Exchange, FinishSendsFinBehindTheUnsentOutputAndReceivingGoesOn) {
  auto [peer, ours] = accept_one();
  const std::string large(std::size_t{8} << 20, 'z');
  send(*ours, large);
  EXPECT_GT(reactor_->unsent(ours->id), 0u);
  reactor_->finish(ours->id);
  std::size_t got = 0;
  run_until([&] { return (got += plain_receive(peer.get()).size()) == large.size(); });
  run_until([&] { return plain_state(peer.get()) == Seen::fin; });
  plain_send(peer.get(), "still here");
  run_until([&] { return ours->received == "still here"; });
}

TEST_P(Exchange, FinishWithoutOutputSendsFinAtOnce) {
  auto [peer, ours] = accept_one();
  reactor_->finish(ours->id);
  run_until([&] { return plain_state(peer.get()) == Seen::fin; });
}

TEST_P(Exchange, DrainedIsReportedOnceForOutputThatHadToWait) {
  auto [peer, ours] = accept_one();
  send(*ours, std::string(std::size_t{8} << 20, 'q'));
  ASSERT_GT(reactor_->unsent(ours->id), 0u);
  run_rounds(5);
  EXPECT_EQ(ours->drained, 0);
  run_until([&] {
    plain_receive(peer.get());
    return ours->drained > 0;
  });
  EXPECT_EQ(reactor_->unsent(ours->id), 0u);
  run_rounds(5);
  EXPECT_EQ(ours->drained, 1);
}

TEST_P(Exchange, DrainedIsReportedOnlyIfSendLeftOutputBehind) {
  auto [peer, ours] = accept_one();
  send(*ours, "short");
  const bool waited = reactor_->unsent(ours->id) > 0;
  run_until([&] { return plain_receive(peer.get()) == "short"; });
  run_rounds(5);
  EXPECT_EQ(ours->drained, waited ? 1 : 0);
  EXPECT_EQ(reactor_->unsent(ours->id), 0u);
}

TEST_P(Exchange, DrainedIsReportedForOutputThatTheHandlerSawUnsentInItsCallback) {
  auto [peer, ours] = accept_one();
  bool waited = false;
  ours->on_received = [&](End& end) {
    send(end, "one ");
    send(end, "answer");
    waited = reactor_->unsent(end.id) > 0;
  };
  plain_send(peer.get(), "request");
  std::string answer;
  run_until([&] { return (answer += plain_receive(peer.get())) == "one answer"; });
  run_rounds(5);
  EXPECT_EQ(ours->drained, waited ? 1 : 0);
  EXPECT_EQ(reactor_->unsent(ours->id), 0u);
}

TEST_P(Exchange, DrainedIsReportedOnceForOutputOfACallbackThatHadToWait) {
  const std::size_t size = std::size_t{8} << 20;
  auto [peer, ours] = accept_one();
  ours->on_received = [&](End& end) { send(end, std::string(size, 'c')); };
  plain_send(peer.get(), "request");
  run_until([&] { return ours->bytes > 0; });
  run_rounds(5);
  EXPECT_EQ(ours->drained, 0);
  EXPECT_GT(reactor_->unsent(ours->id), 0u);
  std::size_t got = 0;
  run_until([&] { return (got += plain_receive(peer.get()).size()) == size && ours->drained > 0; });
  run_rounds(5);
  EXPECT_EQ(ours->drained, 1);
}

TEST_P(Exchange, OutputOfManySlicesArrivesInOrder) {
  auto [peer, ours] = accept_one();
  std::string expected;
  base::Chain chain;
  for (int i = 0; i < 500; ++i) {
    const std::string piece = "piece " + std::to_string(i) + ";";
    chain.push(reactor_->blocks().copy(piece));
    expected += piece;
  }
  reactor_->send(ours->id, std::move(chain));
  send(*ours, "the end");
  expected += "the end";
  std::string got;
  run_until([&] { return (got += plain_receive(peer.get())).size() == expected.size(); });
  EXPECT_EQ(got, expected);
}

TEST_P(Exchange, BulkReceivesEveryByteInOrder) {
  recorder_->mode_when_accepted = Receive::bulk;
  auto [peer, ours] = accept_one();
  std::string sent;
  for (int i = 0; sent.size() < (std::size_t{4} << 20); ++i) sent += "number " + std::to_string(i) + "\n";
  std::size_t gone = 0;
  run_until([&] {
    const ssize_t put = ::send(peer.get(), sent.data() + gone, sent.size() - gone, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put > 0) gone += static_cast<std::size_t>(put);
    return ours->bytes == sent.size();
  });
  EXPECT_EQ(ours->received, sent);
}

TEST_P(Exchange, WithoutFreeBlocksReceivingWaitsAndLosesNothing) {
  auto [peer, ours] = accept_one();
  std::vector<base::Slice> hoard;
  while (base::Block* block = reactor_->blocks().try_take_large()) hoard.emplace_back(*block, 0, 0);
  ours->keep_slices = true;
  std::string sent;
  for (int i = 0; i < 300; ++i) {
    const std::string piece(100, static_cast<char>('a' + i % 26));
    plain_send(peer.get(), piece);
    sent += piece;
    run_rounds(1);
  }
  const std::uint64_t loops = reactor_->counters().loops;
  run_rounds(5);
  EXPECT_LT(reactor_->counters().loops, loops + 20) << "must not spin";
  EXPECT_LT(ours->bytes, sent.size());
  hoard.clear();
  ours->slices.clear();
  run_until([&] { return ours->bytes == sent.size(); });
  EXPECT_EQ(ours->received, sent);
  ours->slices.clear();
}

TEST_P(Exchange, PeerGoneSeesAFinThatNobodyHasReadYet) {
  auto [peer, ours] = accept_one();
  EXPECT_FALSE(reactor_->peer_gone(ours->id));
  plain_send(peer.get(), "x");
  run_until([&] { return ours->bytes == 1; });
  EXPECT_FALSE(reactor_->peer_gone(ours->id));
  peer = Descriptor();
  EXPECT_TRUE(reactor_->peer_gone(ours->id));
}

INSTANTIATE_TEST_SUITE_P(Reactors, Limits, testing::Values(Kind::epoll, Kind::uring),
                         [](const auto& kind) { return kind.param == Kind::epoll ? "Epoll" : "Uring"; });
INSTANTIATE_TEST_SUITE_P(Reactors, Exchange, testing::Values(Kind::epoll, Kind::uring),
                         [](const auto& kind) { return kind.param == Kind::epoll ? "Epoll" : "Uring"; });

}  // namespace
}  // namespace ebb::reactor
