#include "sim/sim_reactor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/content.h"

namespace ebb::sim {
namespace {

using reactor::CloseMode;
using reactor::Owner;
using reactor::Receive;
using reactor::SocketId;

// Writes down what it is told.
class Recorder final : public reactor::Handler {
 public:
  explicit Recorder(reactor::Reactor& reactor) : reactor_(reactor) {}

  void on_accepted(Owner, SocketId socket, const base::Address&) override {
    accepted = socket;
    reactor_.adopt(socket, {2, {}});
  }
  void on_connected(Owner) override { log += "connected "; }
  void on_received(Owner, base::Slice bytes) override { received += bytes.view(); }
  void on_peer_finished(Owner) override { log += "finished "; }
  void on_drained(Owner) override { log += "drained "; }
  void on_pumped(Owner, std::uint64_t moved, bool done) override {
    pumped += moved;
    if (done) log += "pumped ";
  }
  void on_failed(Owner, const base::Error& error) override {
    log += "failed:" + std::string(base::name(error.cause)) + " ";
  }
  void on_timer(Owner) override { log += "timer "; }
  void on_round_end() override {}

  std::string log;
  std::string received;
  std::uint64_t pumped = 0;
  SocketId accepted;

 private:
  reactor::Reactor& reactor_;
};

class SimReactorTest : public testing::TestWithParam<bool>, public Watcher {
 protected:
  SimReactorTest() {
    network_.set_link({});
    reactor_.run(recorder_);
  }

  // A socket of the reactor's, and the other end of it.
  SocketId connect_to_peer() {
    const PortId port = network_.listen(server_, *this, {});
    const SocketId socket = *reactor_.connect(server_, {1, {}});
    run(milliseconds{10});
    peer_ = network_.accept(port, *this, {}, patient_limits());
    network_.close_port(port);
    return socket;
  }
  void send(SocketId socket, std::string_view bytes) {
    base::Chain chain;
    chain.push(reactor_.blocks().copy(bytes));
    reactor_.send(socket, std::move(chain));
  }
  void run(Duration time) {
    const Instant until = world_.now() + time;
    bool late = false;
    world_.at(until, [&late] { late = true; });
    while (!late) world_.step();
  }

  World world_{1};
  Network network_{world_};
  base::Address server_ = *base::Address::parse("10.0.0.2:80");
  base::Address own_ = *base::Address::parse("10.0.0.1:8080");
  EndId peer_;
  SimReactor reactor_{world_, network_, own_, {.asynchronous = GetParam()}, {}, 0};
  Recorder recorder_{reactor_};

 private:
  void on_end_changed(base::Handle) override {}
  void on_port_changed(base::Handle) override {}
};

INSTANTIATE_TEST_SUITE_P(BothKernels, SimReactorTest, testing::Bool());

TEST_P(SimReactorTest, TellsOfConnectionBytesAndFinInOrder) {
  const SocketId socket = connect_to_peer();
  reactor_.receive(socket, Receive::watchful);
  network_.send(peer_, "hello");
  network_.finish(peer_);
  run(milliseconds{10});
  EXPECT_EQ(recorder_.received, "hello");
  EXPECT_EQ(recorder_.log, "connected finished ");
}

TEST_P(SimReactorTest, DeliversNothingWhilePaused) {
  const SocketId socket = connect_to_peer();
  network_.send(peer_, "hello");
  network_.finish(peer_);
  run(milliseconds{10});
  EXPECT_EQ(recorder_.received, "");
  EXPECT_EQ(recorder_.log, "connected ");
  reactor_.receive(socket, Receive::bulk);
  run(milliseconds{10});
  EXPECT_EQ(recorder_.received, "hello");
  EXPECT_EQ(recorder_.log, "connected finished ");
}

TEST_P(SimReactorTest, TellsOfAFailureWhilePausedOnce) {
  connect_to_peer();
  network_.reset(peer_);
  run(milliseconds{10});
  EXPECT_EQ(recorder_.log, "connected failed:backend_reset ");
}

TEST_P(SimReactorTest, TellsThatOutputDrainedOnlyIfItHadToWait) {
  network_.set_link({.send_buffer = 100, .receive_buffer = 100});
  const SocketId socket = connect_to_peer();
  send(socket, std::string(300, 'x'));
  EXPECT_GT(reactor_.unsent(socket), 0u);
  run(milliseconds{10});
  EXPECT_EQ(recorder_.log, "connected ");
  for (int i = 0; i < 3; ++i) {
    network_.read(peer_, SIZE_MAX);
    run(milliseconds{10});
  }
  EXPECT_EQ(recorder_.log, "connected drained ");
  EXPECT_EQ(reactor_.unsent(socket), 0u);
}

TEST_P(SimReactorTest, FinishesBehindUnsentOutput) {
  network_.set_link({.send_buffer = 10, .receive_buffer = 10});
  const SocketId socket = connect_to_peer();
  const std::string sent = Content(1, Direction::request).text(0, 100);
  send(socket, sent);
  reactor_.finish(socket);
  std::string got;
  for (int i = 0; i < 20; ++i) {
    run(milliseconds{10});
    got += network_.read(peer_, SIZE_MAX);
  }
  EXPECT_EQ(got, sent);
  EXPECT_TRUE(network_.finished(peer_));
}

TEST_P(SimReactorTest, FlushesOutputOfAClosedSocketEvenWithUnreadInput) {
  network_.set_link({.send_buffer = 10, .receive_buffer = 10});
  const SocketId socket = connect_to_peer();
  network_.send(peer_, "unread");
  run(milliseconds{10});
  send(socket, std::string(100, 'x'));
  reactor_.close(socket, CloseMode::flush);
  EXPECT_EQ(reactor_.sockets(), 0u);
  std::string got;
  for (int i = 0; i < 20; ++i) {
    run(milliseconds{10});
    got += network_.read(peer_, SIZE_MAX);
  }
  EXPECT_EQ(got.size(), 100u);
  EXPECT_EQ(network_.error(peer_), 0);
}

TEST_P(SimReactorTest, ResetsOnDemand) {
  const SocketId socket = connect_to_peer();
  reactor_.close(socket, CloseMode::reset);
  run(milliseconds{10});
  EXPECT_EQ(network_.error(peer_), ECONNRESET);
}

TEST_P(SimReactorTest, SaysWhyAConnectionAttemptFailed) {
  ASSERT_TRUE(reactor_.connect(server_, {1, {}}));
  run(milliseconds{10});
  EXPECT_EQ(recorder_.log, "failed:backend_refused ");
}

TEST_P(SimReactorTest, RunsOutOfDescriptors) {
  reactor_.set_fd_limit(0);
  const auto socket = reactor_.connect(server_, {1, {}});
  ASSERT_FALSE(socket);
  EXPECT_EQ(socket.error().cause, base::Cause::resource_limit);
}

TEST_P(SimReactorTest, SeesAPeerThatIsGone) {
  const SocketId socket = connect_to_peer();
  EXPECT_FALSE(reactor_.peer_gone(socket));
  network_.finish(peer_);
  run(milliseconds{10});
  EXPECT_TRUE(reactor_.peer_gone(socket));
}

TEST_P(SimReactorTest, AcceptsWhatWaitsBeforeAListenerCloses) {
  const auto listener = *reactor_.listen(own_, {3, {}});
  const EndId client = network_.connect(server_, own_, *this, {}, patient_limits());
  reactor_.set_fd_limit(0);
  run(milliseconds{10});
  EXPECT_FALSE(recorder_.accepted);
  reactor_.close_listener(listener);
  reactor_.set_fd_limit(10);
  run(milliseconds{10});
  EXPECT_TRUE(recorder_.accepted);
  EXPECT_EQ(reactor_.listeners(), 0u);
  EXPECT_EQ(network_.error(client), 0);
}

TEST_P(SimReactorTest, PumpsTheAskedAmountAndNoMore) {
  const SocketId from = connect_to_peer();
  const EndId source = peer_;
  const SocketId to = connect_to_peer();
  network_.send(source, Content(1, Direction::response).text(0, 5000));
  reactor_.pump(from, to, 3000);
  run(milliseconds{10});
  EXPECT_EQ(recorder_.pumped, 3000u);
  EXPECT_EQ(recorder_.log, "connected connected pumped ");
  EXPECT_EQ(network_.read(peer_, SIZE_MAX), Content(1, Direction::response).text(0, 3000));
  reactor_.receive(from, Receive::bulk);
  run(milliseconds{10});
  EXPECT_EQ(recorder_.received, Content(1, Direction::response).text(3000, 2000));
}

TEST_P(SimReactorTest, EndsAPumpWhoseSourceFinishes) {
  const SocketId from = connect_to_peer();
  const EndId source = peer_;
  const SocketId to = connect_to_peer();
  reactor_.pump(from, to, 3000);
  network_.send(source, "short");
  network_.finish(source);
  run(milliseconds{10});
  EXPECT_EQ(recorder_.pumped, 5u);
  EXPECT_EQ(recorder_.log, "connected connected finished ");
}

TEST_P(SimReactorTest, FiresTimersAtTheirTime) {
  base::Timer timer({4, {}});
  reactor_.timers().arm(timer, world_.now() + milliseconds{5});
  run(milliseconds{4});
  EXPECT_EQ(recorder_.log, "");
  run(milliseconds{3});
  EXPECT_EQ(recorder_.log, "timer ");
}

TEST_P(SimReactorTest, BlamesTheHandlerForUsingAClosedSocket) {
  const SocketId socket = connect_to_peer();
  reactor_.close(socket, CloseMode::drop);
  reactor_.receive(socket, Receive::bulk);
  EXPECT_EQ(world_.failure(), "contract: receive on a closed or unknown socket");
}

}  // namespace
}  // namespace ebb::sim
