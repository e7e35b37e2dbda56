// Connections that end: by close in its three modes, by the peer, by refusal, inside callbacks of others.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "reactor/fixture.h"

namespace ebb::reactor {
namespace {

using Ending = ReactorTest;
using base::Cause;

void set_reset_on_close(int socket) {
  const linger now = {.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

TEST_P(Ending, CloseFlushDeliversAllUnsentOutputAndThenFin) {
  auto [peer, ours] = accept_one();
  const std::size_t size = std::size_t{8} << 20;
  send(*ours, std::string(size, 'f'));
  ASSERT_GT(reactor_->unsent(ours->id), 0u);
  reactor_->close(ours->id, CloseMode::flush);
  EXPECT_EQ(reactor_->unsent(ours->id), 0u) << "the handler must not see it any more";
  std::size_t got = 0;
  run_until([&] { return (got += plain_receive(peer.get()).size()) == size; });
  run_until([&] { return plain_state(peer.get()) == Seen::fin; });
  EXPECT_EQ(ours->drained, 0);
  EXPECT_TRUE(ours->failures.empty());
}

TEST_P(Ending, CloseFlushWhileThePeerStillSendsIsNotSeenAsAReset) {
  recorder_->mode_when_accepted = Receive::paused;
  auto [peer, ours] = accept_one();
  plain_send(peer.get(), std::string(50000, 'u'));
  run_rounds(3);
  send(*ours, "too much");
  reactor_->close(ours->id, CloseMode::flush);
  run_rounds(3);
  plain_send(peer.get(), std::string(50000, 'u'));
  run_rounds(3);
  std::string answer;
  run_until([&] { return (answer += plain_receive(peer.get())) == "too much"; });
  EXPECT_EQ(plain_state(peer.get()), Seen::fin);
  ::shutdown(peer.get(), SHUT_WR);
  run_rounds(3);
}

unsigned segments_received(int socket) {
  tcp_info facts = {};
  socklen_t size = sizeof(facts);
  EXPECT_EQ(::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &facts, &size), 0);
  return facts.tcpi_segs_in;
}

TEST_P(Ending, AnAnswerAndTheFinBehindItLeaveInOneSegment) {
  for (const bool closes : {true, false}) {
    auto [peer, ours] = accept_one();
    ours->on_received = [&](End& end) {
      send_last(end, "answer");
      if (closes) return reactor_->close(end.id, CloseMode::flush);
      reactor_->finish(end.id);
    };
    run_rounds(3);
    const unsigned before = segments_received(peer.get());
    plain_send(peer.get(), "request");
    std::string answer;
    run_until([&] { return (answer += plain_receive(peer.get())) == "answer"; });
    run_until([&] { return plain_state(peer.get()) == Seen::fin; });
    EXPECT_LE(segments_received(peer.get()) - before, 2u) << "with the acknowledgement of the request";
  }
}

// A close with input unread is a reset, and the kernel drops what it has not sent by then.
TEST_P(Ending, AnAnswerWithItsFinLeavesAlsoIfThePeerHasSentMoreInTheMeantime) {
  auto [peer, ours] = accept_one();
  ours->on_received = [&, plain = peer.get()](End& end) {
    plain_send(plain, "more");
    send_last(end, "answer");
    reactor_->close(end.id, CloseMode::flush);
  };
  plain_send(peer.get(), "request");
  std::string answer;
  run_until([&] { return (answer += plain_receive(peer.get())) == "answer"; });
}

TEST_P(Ending, LastBytesThatDidNotFitAreReportedAsDrained) {
  const std::size_t size = std::size_t{8} << 20;
  auto [peer, ours] = accept_one();
  ours->on_received = [&](End& end) {
    send_last(end, std::string(size, 'c'));
    reactor_->finish(end.id);
  };
  plain_send(peer.get(), "request");
  std::size_t got = 0;
  run_until([&] { return (got += plain_receive(peer.get()).size()) == size && ours->drained > 0; });
  run_rounds(5);
  EXPECT_EQ(ours->drained, 1);
}

// What waits already keeps its place, and all of it is written although the peer reads late.
TEST_P(Ending, LastBytesBehindAFullSocketArriveInOrder) {
  const std::size_t size = std::size_t{8} << 20;
  auto [peer, ours] = accept_one();
  ours->on_received = [&](End& end) {
    send(end, std::string(size, 'c'));
    send_last(end, "end");
    reactor_->finish(end.id);
  };
  plain_send(peer.get(), "request");
  std::string answer;
  run_until([&] { return (answer += plain_receive(peer.get())).size() == size + 3; });
  run_until([&] { return plain_state(peer.get()) == Seen::fin; });
  EXPECT_EQ(answer.substr(size), "end");
}

class Patient : public ReactorTest {
 protected:
  Patient() { limits_.user_timeout = std::chrono::hours{1}; }
};

TEST_P(Patient, CloseFlushDoesNotWaitForTheFinOfAPeerThatSaysNothingMore) {
  recorder_->mode_when_accepted = Receive::paused;
  auto [peer, ours] = accept_one();
  plain_send(peer.get(), "unread");
  run_rounds(3);
  const std::size_t before = open_descriptors();
  send(*ours, "answer");
  reactor_->close(ours->id, CloseMode::flush);
  run_until([&] { return plain_receive(peer.get()) == "answer"; });
  EXPECT_EQ(open_descriptors(), before) << "a reset could overtake the answer at the peer";
  run_until([&] { return open_descriptors() == before - 1; });
}

class Impatient : public ReactorTest {
 protected:
  Impatient() { limits_.user_timeout = std::chrono::seconds{1}; }
};

TEST_P(Impatient, CloseFlushGivesUpOnAPeerThatReadsNothing) {
  auto [peer, ours] = accept_one();
  const std::size_t size = std::size_t{8} << 20;
  send(*ours, std::string(size, 'f'));
  const std::size_t before = open_descriptors();
  reactor_->close(ours->id, CloseMode::flush);
  run_until([&] { return open_descriptors() == before - 1; });
  EXPECT_TRUE(ours->failures.empty());
}

class Thrifty : public ReactorTest {
 protected:
  Thrifty() {
    limits_.user_timeout = std::chrono::hours{1};
    limits_.flush_total = std::chrono::seconds{2};
  }
};

// It reads on and on, so little that it would hold the output for hours.
TEST_P(Thrifty, CloseFlushEndsOnAPeerThatReadsForTooLong) {
  auto [peer, ours] = accept_one();
  send(*ours, std::string(std::size_t{64} << 20, 'f'));
  const std::size_t before = open_descriptors();
  reactor_->close(ours->id, CloseMode::flush);
  char some[4096];
  base::Instant last{};
  run_until([&] {
    if (reactor_->now() - last >= std::chrono::milliseconds{1}) {  // 8 MB in all at most, however fast the machine is
      ::recv(peer.get(), some, sizeof(some), MSG_DONTWAIT);
      last = reactor_->now();
    }
    return open_descriptors() == before - 1;
  });
  EXPECT_EQ(plain_state(peer.get()), Seen::reset) << "what it has is not the whole";
}

TEST_P(Patient, OldestOfThoseThatFlushEndFirstWhenMemoryIsWanted) {
  const std::size_t size = std::size_t{8} << 20;
  std::vector<Pair> pairs;
  for (int i = 0; i < 3; ++i) {
    pairs.push_back(accept_one());
    send(*pairs.back().ours, std::string(size, 'f'));
  }
  for (const Pair& pair : pairs) {
    reactor_->close(pair.ours->id, CloseMode::flush);
    run_rounds(3);
  }
  EXPECT_EQ(reactor_->end_flushing(size, std::chrono::hours{1}), 0u) << "none is that old";
  const std::size_t in_use = reactor_->blocks().bytes_in_use();
  EXPECT_GE(reactor_->end_flushing(size, base::Duration::zero()), size);
  run_until([&] { return reactor_->blocks().bytes_in_use() + size <= in_use; });
  EXPECT_EQ(plain_state(pairs[0].peer.get()), Seen::reset);
  for (std::size_t i = 1; i < pairs.size(); ++i) {
    const int younger = pairs[i].peer.get();
    std::size_t got = 0;
    run_until([&] { return (got += plain_receive(younger).size()) == size; });
    run_until([&] { return plain_state(younger) == Seen::fin; });
  }
}

TEST_P(Ending, FinBehindUnreadBytesIsToldWhilePaused) {
  recorder_->mode_when_accepted = Receive::paused;
  auto [peer, ours] = accept_one();
  plain_send(peer.get(), "unread");
  ::shutdown(peer.get(), SHUT_WR);
  run_until([&] { return ours->end_in_sight == 1; });
  run_rounds(3);
  EXPECT_EQ(ours->end_in_sight, 1);
  EXPECT_EQ(ours->peer_finished, 0) << "there is something to read before it";
  EXPECT_EQ(ours->bytes, 0u);
  reactor_->receive(ours->id, Receive::watchful);
  run_until([&] { return ours->peer_finished == 1; });
  EXPECT_EQ(ours->received, "unread");
}

TEST_P(Ending, FinBehindBytesThatMadeTheHandlerPauseIsTold) {
  auto [peer, ours] = accept_one();
  ours->on_received = [&](End& end) { reactor_->receive(end.id, Receive::paused); };
  plain_send(peer.get(), "first");
  run_until([&] { return ours->received == "first"; });
  plain_send(peer.get(), "later");
  run_rounds(3);
  ::shutdown(peer.get(), SHUT_WR);
  run_until([&] { return ours->end_in_sight == 1; });
  EXPECT_EQ(ours->received, "first");
  reactor_->receive(ours->id, Receive::watchful);
  run_until([&] { return ours->received == "firstlater"; });
  reactor_->receive(ours->id, Receive::watchful);
  run_until([&] { return ours->peer_finished == 1; });
}

TEST_P(Ending, ResetBehindAFinThatWasToldIsReported) {
  recorder_->mode_when_accepted = Receive::paused;
  auto [peer, ours] = accept_one();
  plain_send(peer.get(), "unread");
  ::shutdown(peer.get(), SHUT_WR);
  run_until([&] { return ours->end_in_sight == 1; });
  set_reset_on_close(peer.get());
  peer = {};
  run_until([&] { return ours->failures.size() == 1; });
}

TEST_P(Ending, CloseDropWithNothingUnreadIsSeenAsFin) {
  auto [peer, ours] = accept_one();
  reactor_->close(ours->id, CloseMode::drop);
  run_until([&] { return plain_state(peer.get()) != Seen::open; });
  EXPECT_EQ(plain_state(peer.get()), Seen::fin);
}

TEST_P(Ending, CloseDropForgetsUnsentOutput) {
  auto [peer, ours] = accept_one();
  const std::size_t size = std::size_t{8} << 20;
  send(*ours, std::string(size, 'd'));
  run_rounds(3);
  reactor_->close(ours->id, CloseMode::drop);
  std::size_t got = 0;
  run_until([&] {
    const std::string piece = plain_receive(peer.get());
    got += piece.size();
    return piece.empty() && plain_state(peer.get()) != Seen::open;
  });
  EXPECT_LT(got, size);
}

TEST_P(Ending, CloseResetBehindUnsentOutputIsSeenAsReset) {
  auto [peer, ours] = accept_one();
  send(*ours, std::string(std::size_t{8} << 20, 'r'));
  run_rounds(3);
  reactor_->close(ours->id, CloseMode::reset);
  Seen seen = Seen::open;
  run_until([&] { return (seen = plain_state(peer.get())) != Seen::open; });
  EXPECT_EQ(seen, Seen::reset);
}

TEST_P(Ending, CloseResetOnAnIdleConnectionIsSeenAsReset) {
  auto [peer, ours] = accept_one();
  reactor_->close(ours->id, CloseMode::reset);
  Seen seen = Seen::open;
  run_until([&] { return (seen = plain_state(peer.get())) != Seen::open; });
  EXPECT_EQ(seen, Seen::reset);
}

TEST_P(Ending, RefusedConnectionIsReportedOnceWithItsCause) {
  base::Address address;
  plain_listen(address);  // closed again at once: nobody listens there
  End& client = connect(address);
  run_until([&] { return !client.failures.empty(); });
  EXPECT_EQ(client.failures[0].cause, Cause::backend_refused);
  EXPECT_EQ(client.failures[0].sys, ECONNREFUSED);
  EXPECT_EQ(client.connected, 0);
  reactor_->close(client.id, CloseMode::drop);
  run_rounds(3);
  EXPECT_EQ(client.failures.size(), 1u);
}

TEST_P(Ending, ResetOfAnAcceptedSocketIsTheClientsDoing) {
  auto [peer, ours] = accept_one();
  set_reset_on_close(peer.get());
  peer = Descriptor();
  run_until([&] { return !ours->failures.empty(); });
  EXPECT_EQ(ours->failures[0].cause, Cause::client_reset);
  EXPECT_EQ(ours->peer_finished, 0);
}

TEST_P(Ending, ResetOfAConnectedSocketIsTheBackendsDoing) {
  base::Address address;
  Descriptor plain = plain_listen(address);
  End& client = connect(address);
  run_until([&] { return client.connected == 1; });
  reactor_->receive(client.id, Receive::watchful);
  Descriptor peer = plain_accept(plain.get());
  set_reset_on_close(peer.get());
  peer = Descriptor();
  run_until([&] { return !client.failures.empty(); });
  EXPECT_EQ(client.failures[0].cause, Cause::backend_reset);
}

TEST_P(Ending, ResetIsReportedOnceEvenWhilePaused) {
  auto [peer, ours] = accept_one();
  plain_send(peer.get(), "a");
  run_until([&] { return ours->bytes == 1; });
  reactor_->receive(ours->id, Receive::paused);
  run_rounds(3);
  set_reset_on_close(peer.get());
  peer = Descriptor();
  run_until([&] { return !ours->failures.empty(); });
  run_rounds(5);
  EXPECT_EQ(ours->failures.size(), 1u);
  EXPECT_EQ(ours->failures[0].cause, Cause::client_reset);
}

TEST_P(Ending, ResetWhilePausedWithUnreadBytesIsReported) {
  recorder_->mode_when_accepted = Receive::paused;
  auto [peer, ours] = accept_one();
  plain_send(peer.get(), "unread");
  run_rounds(3);
  set_reset_on_close(peer.get());
  peer = Descriptor();
  run_until([&] { return !ours->failures.empty(); });
  EXPECT_EQ(ours->bytes, 0u);
}

TEST_P(Ending, ResetAfterThePeersFinIsReported) {
  auto [peer, ours] = accept_one();
  ::shutdown(peer.get(), SHUT_WR);
  run_until([&] { return ours->peer_finished == 1; });
  set_reset_on_close(peer.get());
  peer = Descriptor();
  run_until([&] { return !ours->failures.empty(); });
  EXPECT_EQ(ours->failures.size(), 1u);
}

TEST_P(Ending, BytesAndResetThatArriveTogetherAreBothReported) {
  auto [peer, ours] = accept_one();
  run_rounds(3);
  plain_send(peer.get(), "early answer");
  set_reset_on_close(peer.get());
  peer = Descriptor();
  run_until([&] { return !ours->failures.empty(); });
  EXPECT_EQ(ours->received, "early answer");
  EXPECT_EQ(ours->peer_finished, 0);
}

// From another processor, so that the reset comes at every moment of what the reactor does with the bytes before it.
TEST_P(Ending, NoResetRightBehindBytesIsLost) {
  listen();
  std::atomic<bool> over = false;
  std::jthread peers([this, &over] {
    for (int i = 0; i < 1000; ++i) {
      const Descriptor peer = plain_connect(address_);
      set_reset_on_close(peer.get());
      plain_send(peer.get(), "a question");
    }
    over = true;
  });
  run_until([&] { return over.load(); });
  // Those before it in the queue have been accepted then, or were gone before.
  const Descriptor last = plain_connect(address_);
  plain_send(last.get(), "the last");
  const auto is_last = [](const End* end) { return end->received == "the last"; };
  run_until([&] { return std::ranges::any_of(recorder_->accepted, is_last); });
  run_until([&] {
    return std::ranges::all_of(recorder_->accepted,
                               [&](const End* end) { return is_last(end) || !end->failures.empty(); });
  });
  EXPECT_GT(recorder_->accepted.size(), 1u);
  for (const End* end : recorder_->accepted) EXPECT_EQ(end->failures.size(), is_last(end) ? 0u : 1u);
}

TEST_P(Ending, BytesAndFinThatArriveTogetherAreBothReported) {
  auto [peer, ours] = accept_one();
  run_rounds(3);
  plain_send(peer.get(), "last words");
  peer = Descriptor();
  run_until([&] { return ours->peer_finished == 1; });
  EXPECT_EQ(ours->received, "last words");
}

TEST_P(Ending, BytesThatCameBeforeTheResetAreDeliveredFirst) {
  auto [peer, ours] = accept_one();
  plain_send(peer.get(), "early answer");
  set_reset_on_close(peer.get());
  peer = Descriptor();
  send(*ours, "this finds nobody");
  run_until([&] { return !ours->failures.empty(); });
  EXPECT_EQ(ours->received, "early answer");
  EXPECT_EQ(ours->peer_finished, 0);
}

TEST_P(Ending, SendOnALostConnectionIsReportedLaterAndNotFromInsideSend) {
  auto [peer, ours] = accept_one();
  reactor_->receive(ours->id, Receive::paused);
  peer = Descriptor();
  for (int i = 0; i < 50 && ours->failures.empty(); ++i) {
    const std::size_t before = ours->failures.size();
    send(*ours, "into the void");
    EXPECT_EQ(ours->failures.size(), before);
    run_rounds(1);
  }
  run_until([&] { return !ours->failures.empty(); });
  EXPECT_EQ(ours->failures[0].cause, Cause::client_reset);
  EXPECT_EQ(reactor_->unsent(ours->id), 0u);
}

TEST_P(Ending, NothingIsReportedAfterClose) {
  auto [peer, ours] = accept_one();
  plain_send(peer.get(), "late");
  reactor_->close(ours->id, CloseMode::drop);
  peer = Descriptor();
  run_rounds(5);
  EXPECT_EQ(ours->bytes, 0u);
  EXPECT_EQ(ours->peer_finished, 0);
  EXPECT_TRUE(ours->failures.empty());
}

TEST_P(Ending, CallsOnAClosedSocketAreHarmless) {
  auto [peer, ours] = accept_one();
  reactor_->close(ours->id, CloseMode::drop);
  send(*ours, "nobody");
  reactor_->receive(ours->id, Receive::bulk);
  reactor_->finish(ours->id);
  reactor_->adopt(ours->id, ours->owner);
  reactor_->close(ours->id, CloseMode::flush);
  EXPECT_TRUE(reactor_->peer_gone(ours->id));
  EXPECT_EQ(reactor_->unsent(ours->id), 0u);
  run_rounds(3);
}

TEST_P(Ending, ANewSocketInTheSameSlotDoesNotInheritEventsOfTheOld) {
  auto [first_peer, first] = accept_one();
  plain_send(first_peer.get(), "for the first");
  reactor_->close(first->id, CloseMode::drop);
  auto [second_peer, second] = accept_one();
  run_rounds(5);
  EXPECT_EQ(second->bytes, 0u);
  EXPECT_EQ(second->peer_finished, 0);
  plain_send(second_peer.get(), "for the second");
  run_until([&] { return second->received == "for the second"; });
  EXPECT_EQ(first->bytes, 0u);
}

TEST_P(Ending, ACallbackMayCloseAnySocketAndOpenOthers) {
  std::vector<Pair> pairs;
  for (int i = 0; i < 20; ++i) pairs.push_back(accept_one());
  int told = 0;
  for (Pair& pair : pairs) {
    pair.ours->on_received = [&](End&) {
      told += 1;
      for (Pair& other : pairs) reactor_->close(other.ours->id, CloseMode::drop);
      reactor_->close(connect(address_).id, CloseMode::drop);
    };
  }
  for (Pair& pair : pairs) plain_send(pair.peer.get(), "all at once");
  run_until([&] { return told > 0; });
  run_rounds(5);
  EXPECT_EQ(told, 1);
}

TEST_P(Ending, ClosingWhileConnectingIsQuiet) {
  listen();
  End& client = connect(address_);
  reactor_->close(client.id, CloseMode::drop);
  run_rounds(5);
  EXPECT_EQ(client.connected, 0);
  EXPECT_TRUE(client.failures.empty());
}

TEST_P(Ending, CloseListenerReportsConnectionsThatWaitInItsQueue) {
  listen();
  std::vector<Descriptor> peers;
  for (int i = 0; i < 100; ++i) peers.push_back(plain_connect(address_));
  reactor_->close_listener(listener_);
  run_until([&] { return recorder_->accepted.size() == peers.size(); });
  for (std::size_t i = 0; i < peers.size(); ++i) plain_send(peers[i].get(), "hello");
  run_until([&] {
    for (End* end : recorder_->accepted) {
      if (end->received != "hello") return false;
    }
    return true;
  });
  run_until([&] { return recorder_->listeners_closed == 1; });
  Descriptor late(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(late.get(), address_.raw(), address_.raw_size()), -1);
  EXPECT_EQ(errno, ECONNREFUSED);
}

TEST_P(Ending, WithoutDescriptorsConnectionsWaitAndAreAcceptedLater) {
  listen();
  std::vector<Descriptor> peers;
  for (int i = 0; i < 5; ++i) peers.push_back(plain_connect(address_));
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit none = {.rlim_cur = open_descriptors(), .rlim_max = limit.rlim_max};
  std::vector<Descriptor> fillers;  // numbers below the limit that happen to be free
  ::setrlimit(RLIMIT_NOFILE, &none);
  while (true) {
    Descriptor filler(::dup(0));
    if (!filler) break;
    fillers.push_back(std::move(filler));
  }
  run_until([&] { return reactor_->counters().accepts_failed > 0; });
  const std::uint64_t loops = reactor_->counters().loops;
  EXPECT_LT(loops, 1000u) << "must not spin";
  EXPECT_EQ(recorder_->accepted.size(), 0u);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  fillers.clear();
  run_until([&] { return recorder_->accepted.size() == peers.size(); });
}

TEST_P(Ending, ThousandsOfConnectionsComeAndGo) {
  listen();
  recorder_->on_accept = [this](End& end) {
    end.on_received = [this](End& self) {
      send(self, self.received);
      reactor_->close(self.id, CloseMode::flush);
    };
  };
  constexpr int total = 3000;
  int finished = 0;
  int started = 0;
  std::vector<End*> live;
  run_until([&] {
    while (live.size() < 50 && started < total) {
      End& end = connect(address_);
      end.on_connected = [this](End& self) {
        reactor_->receive(self.id, Receive::watchful);
        send(self, "question");
      };
      live.push_back(&end);
      started += 1;
    }
    std::erase_if(live, [&](End* end) {
      if (end->peer_finished == 0 && end->failures.empty()) return false;
      EXPECT_EQ(end->received, "question");
      reactor_->close(end->id, CloseMode::drop);
      finished += 1;
      return true;
    });
    return finished == total;
  });
  EXPECT_EQ(finished, total);
}

INSTANTIATE_TEST_SUITE_P(Reactors, Patient, testing::Values(Kind::epoll, Kind::uring),
                         [](const auto& kind) { return kind.param == Kind::epoll ? "Epoll" : "Uring"; });
INSTANTIATE_TEST_SUITE_P(Reactors, Impatient, testing::Values(Kind::epoll, Kind::uring),
                         [](const auto& kind) { return kind.param == Kind::epoll ? "Epoll" : "Uring"; });
INSTANTIATE_TEST_SUITE_P(Reactors, Thrifty, testing::Values(Kind::epoll, Kind::uring),
                         [](const auto& kind) { return kind.param == Kind::epoll ? "Epoll" : "Uring"; });
INSTANTIATE_TEST_SUITE_P(Reactors, Ending, testing::Values(Kind::epoll, Kind::uring),
                         [](const auto& kind) { return kind.param == Kind::epoll ? "Epoll" : "Uring"; });

}  // namespace
}  // namespace ebb::reactor
