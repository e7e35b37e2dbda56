// Bodies that pass inside the kernel.
#include <sys/socket.h>

#include "reactor/fixture.h"

namespace ebb::reactor {
namespace {

class Pumping : public ReactorTest {
 protected:
  // Writes `bytes` in a pattern that shows any loss or doubling.
  struct Writer {
    int socket;
    std::size_t total;
    std::size_t gone = 0;
    bool step() {
      char piece[65536];
      for (std::size_t i = 0; i < sizeof(piece); ++i) piece[i] = pattern(gone + i);
      const std::size_t count = std::min(sizeof(piece), total - gone);
      const ssize_t put = count == 0 ? 0 : ::send(socket, piece, count, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (put > 0) gone += static_cast<std::size_t>(put);
      return gone == total;
    }
  };
  struct Reader {
    int socket;
    std::size_t got = 0;
    void step() {
      const std::string bytes = plain_receive(socket);
      for (const char byte : bytes) ASSERT_EQ(byte, pattern(got++));
    }
  };
  static char pattern(std::size_t at) { return static_cast<char>((at ^ (at >> 9)) * 31); }

  void SetUp() override {
    ReactorTest::SetUp();
    if (IsSkipped()) return;
    recorder_->mode_when_accepted = Receive::paused;
    source_ = accept_one();
    sink_ = accept_one();
  }
  void TearDown() override {
    source_ = {};
    sink_ = {};
    ReactorTest::TearDown();
  }

  Pair source_;
  Pair sink_;
};

TEST_P(Pumping, FinOfTheSourceIsToldWhileTheSinkTakesNothing) {
  const std::size_t total = std::size_t{64} << 20;
  reactor_->pump(source_.ours->id, sink_.ours->id, total);
  Writer writer{source_.peer.get(), total};
  int quiet = 0;
  run_until([&] {  // until the sink is not writable
    const bool waits = reactor_->unsent(sink_.ours->id) > 0;
    if (!waits) writer.step();
    quiet = waits ? quiet + 1 : 0;
    return quiet > 50;
  });
  ::shutdown(source_.peer.get(), SHUT_WR);
  // Whether the source's end is reached too is up to the kernel: what waits may fit into a sink that is not writable.
  run_until([&] { return source_.ours->end_in_sight == 1; });
}

TEST_P(Pumping, Moves64MebibytesToASlowReader) {
  const std::size_t total = std::size_t{64} << 20;
  reactor_->pump(source_.ours->id, sink_.ours->id, total);
  Writer writer{source_.peer.get(), total};
  Reader reader{sink_.peer.get()};
  int turn = 0;
  run_until([&] {
    for (int i = 0; i < 64; ++i) writer.step();
    if (++turn % 3 == 0) reader.step();
    return reader.got == total;
  });
  run_until([&] { return source_.ours->pump_done == 1; });
  EXPECT_EQ(source_.ours->pumped, total);
  EXPECT_EQ(source_.ours->bytes, 0u);
  EXPECT_EQ(reactor_->counters().spliced_bytes, total);
}

TEST_P(Pumping, BytesOnTheirWayCountAsUnsentOfTheSink) {
  const std::size_t total = std::size_t{64} << 20;
  reactor_->pump(source_.ours->id, sink_.ours->id, total);
  EXPECT_EQ(reactor_->unsent(sink_.ours->id), 0u);
  Writer writer{source_.peer.get(), total};
  run_until([&] {
    writer.step();
    return reactor_->unsent(sink_.ours->id) > 0;
  });
  Reader reader{sink_.peer.get()};
  run_until([&] {
    for (int i = 0; i < 16; ++i) writer.step();
    reader.step();
    return source_.ours->pump_done == 1;
  });
  EXPECT_EQ(reactor_->unsent(sink_.ours->id), 0u);
}

TEST_P(Pumping, StopsAtTheAskedAmountAndLeavesTheRest) {
  plain_send(source_.peer.get(), "0123456789 and the next message");
  reactor_->pump(source_.ours->id, sink_.ours->id, 10);
  std::string got;
  run_until([&] { return (got += plain_receive(sink_.peer.get())).size() >= 10 && source_.ours->pump_done == 1; });
  EXPECT_EQ(got, "0123456789");
  EXPECT_EQ(source_.ours->pumped, 10u);
  reactor_->receive(source_.ours->id, Receive::watchful);
  run_until([&] { return source_.ours->received == " and the next message"; });
}

TEST_P(Pumping, BytesThatWereReceivedBeforeThePauseComeFirst) {
  Writer writer{source_.peer.get(), 300000};
  std::size_t before_pause = 0;
  source_.ours->on_received = [&](End& end) {
    if (before_pause != 0) return;
    before_pause = end.bytes;
    reactor_->receive(end.id, Receive::paused);
    reactor_->pump(end.id, sink_.ours->id, 300000 - before_pause);
  };
  run_until([&] { return writer.step(); });
  reactor_->receive(source_.ours->id, Receive::bulk);
  Reader reader{sink_.peer.get()};
  run_until([&] {
    if (before_pause != 0 && reader.got == 0) reader.got = before_pause;
    if (before_pause != 0) reader.step();
    return source_.ours->pump_done == 1 && reader.got == 300000;
  });
  EXPECT_EQ(source_.ours->bytes, before_pause);
  EXPECT_EQ(source_.ours->pumped, 300000 - before_pause);
}

TEST_P(Pumping, OutputThatWasStillUnsentGoesFirst) {
  send(*sink_.ours, "head;");
  reactor_->pump(source_.ours->id, sink_.ours->id, 4);
  plain_send(source_.peer.get(), "body");
  std::string got;
  run_until([&] { return (got += plain_receive(sink_.peer.get())).size() == 9; });
  EXPECT_EQ(got, "head;body");
  run_until([&] { return source_.ours->pump_done == 1; });
}

TEST_P(Pumping, EarlyEndReportsWhatWasMovedAndThenTheFin) {
  reactor_->pump(source_.ours->id, sink_.ours->id, 1000);
  plain_send(source_.peer.get(), std::string(400, 'e'));
  run_rounds(3);
  ::shutdown(source_.peer.get(), SHUT_WR);
  run_until([&] { return source_.ours->peer_finished == 1; });
  EXPECT_EQ(source_.ours->pumped, 400u);
  EXPECT_EQ(source_.ours->pump_done, 0);
  run_until([&] { return plain_receive(sink_.peer.get()).size() == 400; });
  send(*sink_.ours, "x");  // the sink is as usable as before
  run_until([&] { return plain_receive(sink_.peer.get()) == "x"; });
}

TEST_P(Pumping, ResetOfTheSourceFailsTheSource) {
  reactor_->pump(source_.ours->id, sink_.ours->id, 1000);
  run_rounds(3);
  const linger now = {.l_onoff = 1, .l_linger = 0};
  ::setsockopt(source_.peer.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  source_.peer = Descriptor();
  run_until([&] { return !source_.ours->failures.empty(); });
  EXPECT_TRUE(sink_.ours->failures.empty());
}

TEST_P(Pumping, ResetOfTheSinkFailsTheSink) {
  reactor_->pump(source_.ours->id, sink_.ours->id, std::size_t{64} << 20);
  Writer writer{source_.peer.get(), std::size_t{64} << 20};
  run_until([&] {
    writer.step();
    return source_.ours->pumped > 0;
  });
  const linger now = {.l_onoff = 1, .l_linger = 0};
  ::setsockopt(sink_.peer.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  sink_.peer = Descriptor();
  run_until([&] {
    writer.step();
    return !sink_.ours->failures.empty();
  });
  EXPECT_TRUE(source_.ours->failures.empty());
  reactor_->close(sink_.ours->id, CloseMode::drop);
  reactor_->close(source_.ours->id, CloseMode::drop);
}

TEST_P(Pumping, ClosingEitherEndStopsThePumpQuietly) {
  reactor_->pump(source_.ours->id, sink_.ours->id, 1000);
  plain_send(source_.peer.get(), "abc");
  run_until([&] { return source_.ours->pumped == 3; });
  reactor_->close(sink_.ours->id, CloseMode::flush);
  plain_send(source_.peer.get(), "def");
  run_rounds(5);
  EXPECT_EQ(source_.ours->pumped, 3u);
  reactor_->receive(source_.ours->id, Receive::watchful);
  run_until([&] { return source_.ours->received == "def"; });
}

TEST_P(Pumping, TwoPumpsBackToBackMakeATunnel) {
  reactor_->pump(source_.ours->id, sink_.ours->id, 6);
  reactor_->pump(sink_.ours->id, source_.ours->id, 6);
  plain_send(source_.peer.get(), "thither");
  plain_send(sink_.peer.get(), "hither");
  std::string forth;
  std::string back;
  run_until([&] {
    forth += plain_receive(sink_.peer.get());
    back += plain_receive(source_.peer.get());
    return source_.ours->pump_done == 1 && sink_.ours->pump_done == 1 && forth == "thithe" && back == "hither";
  });
}

TEST_P(Pumping, ManyPumpsInARowUseTheSamePipe) {
  for (int i = 1; i <= 50; ++i) {
    reactor_->pump(source_.ours->id, sink_.ours->id, 1000);
    plain_send(source_.peer.get(), std::string(1000, 'p'));
    run_until([&] {
      plain_receive(sink_.peer.get());
      return source_.ours->pump_done == i;
    });
  }
  EXPECT_EQ(source_.ours->pumped, 50000u);
  EXPECT_LT(open_descriptors(), descriptors_before_ + 16);
}

INSTANTIATE_TEST_SUITE_P(Reactors, Pumping, testing::Values(Kind::epoll, Kind::uring),
                         [](const auto& kind) { return kind.param == Kind::epoll ? "Epoll" : "Uring"; });

}  // namespace
}  // namespace ebb::reactor
