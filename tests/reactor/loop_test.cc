// The loop itself: messages from other threads, timers, several reactors on one port, the choice of the kind.
#include <thread>

#include "reactor/fixture.h"

namespace ebb::reactor {
namespace {

using LoopTest = ReactorTest;
using namespace std::chrono_literals;

TEST_P(LoopTest, PostedTasksRunInTheLoopsThreadInOrder) {
  constexpr int threads = 4;
  constexpr int tasks = 500;
  std::vector<int> last(threads, -1);
  int ran = 0;
  const auto loop_thread = std::this_thread::get_id();
  std::vector<std::jthread> posters;
  for (int t = 0; t < threads; ++t) {
    posters.emplace_back([&, t] {
      for (int i = 0; i < tasks; ++i) {
        reactor_->post([&, t, i] {
          EXPECT_EQ(std::this_thread::get_id(), loop_thread);
          EXPECT_EQ(last[t], i - 1);
          last[t] = i;
          ran += 1;
        });
      }
    });
  }
  run_until([&] { return ran == threads * tasks; });
  EXPECT_EQ(ran, threads * tasks);
}

TEST_P(LoopTest, TaskPostedByATaskRunsAfterIt) {
  std::string order;
  reactor_->post([&] {
    reactor_->post([&] { order += "b"; });
    order += "a";
  });
  run_until([&] { return order.size() == 2; });
  EXPECT_EQ(order, "ab");
}

TEST_P(LoopTest, StopFromAnotherThreadEndsARunThatWaits) {
  recorder_->until = [] { return false; };
  std::jthread stopper([this] { reactor_->stop(); });
  reactor_->run(*recorder_);
}

TEST_P(LoopTest, RunsInAnotherThreadThanTheOneThatMadeIt) {
  listen();
  Descriptor peer = plain_connect(address_);
  plain_send(peer.get(), "hello");
  recorder_->until = [this] { return !recorder_->accepted.empty() && recorder_->accepted[0]->received == "hello"; };
  std::jthread([this] { reactor_->run(*recorder_); }).join();
  EXPECT_EQ(recorder_->accepted.size(), 1u);
}

TEST_P(LoopTest, EndsWithOpenConnectionsOutputAndPumpsInFlight) {
  auto [first_peer, first] = accept_one();
  auto [second_peer, second] = accept_one();
  auto [third_peer, third] = accept_one();
  send(*first, std::string(std::size_t{8} << 20, 'o'));
  reactor_->receive(second->id, Receive::paused);
  reactor_->pump(second->id, third->id, 1000);
  connect(address_);
  run_rounds(5);
  send(*third, "never submitted");
}

TEST_P(LoopTest, TimersComeInOrderAndNeverEarly) {
  base::Timer late({5, {2, 1}});
  base::Timer early({5, {1, 1}});
  base::Timer never({5, {3, 1}});
  const base::Instant start = reactor_->clock().now();
  reactor_->timers().arm(late, start + 12ms);
  reactor_->timers().arm(early, start + 4ms);
  reactor_->timers().arm(never, start + 6ms);
  never.disarm();
  run_until([&] { return !late.armed(); });
  EXPECT_GE(reactor_->now() - start, 12ms);
  EXPECT_EQ(recorder_->timers, (std::vector<std::uint32_t>{1, 2}));
}

TEST_P(LoopTest, TwoReactorsListenOnOnePort) {
  listen();
  std::string why_not;
  auto second = make_reactor(GetParam(), SocketLimits{}, why_not);
  ASSERT_TRUE(second);
  auto shared = (*second)->listen(address_, {2, {0, 1}});
  ASSERT_TRUE(shared);
  EXPECT_EQ((*second)->local_address(*shared), address_);
}

TEST_P(LoopTest, APreparedListenerLetsConnectionsWaitUntilItIsStarted) {
  const auto prepared = reactor_->prepare_listener(*base::Address::parse("127.0.0.1:0"), {2, {0, 1}});
  ASSERT_TRUE(prepared);
  const Descriptor peer = plain_connect(reactor_->local_address(*prepared));
  run_rounds(5);
  EXPECT_TRUE(recorder_->accepted.empty());
  reactor_->start_listener(*prepared);
  run_until([&] { return recorder_->accepted.size() == 1; });
  EXPECT_EQ(recorder_->accepted.size(), 1u);
}

TEST_P(LoopTest, ListeningOnAForeignAddressIsAnErrorWithItsReason) {
  const auto made = reactor_->listen(*base::Address::parse("192.0.2.1:1"), {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().sys, EADDRNOTAVAIL);
  EXPECT_STREQ(made.error().where, "bind");
}

TEST_P(LoopTest, CountsItsWork) {
  auto [peer, ours] = accept_one();
  plain_send(peer.get(), "x");
  run_until([&] { return ours->bytes == 1; });
  send(*ours, "y");
  run_until([&] { return plain_receive(peer.get()) == "y"; });
  run_rounds(2);
  const Counters& counters = reactor_->counters();
  EXPECT_GT(counters.loops, 0u);
  EXPECT_GE(counters.receives, 1u);
  EXPECT_EQ(counters.sends, 1u);
  EXPECT_GT(counters.lag_max.count(), 0);
}

INSTANTIATE_TEST_SUITE_P(Reactors, LoopTest, testing::Values(Kind::epoll, Kind::uring),
                         [](const auto& kind) { return kind.param == Kind::epoll ? "Epoll" : "Uring"; });

TEST(MakeReactor, AutomaticAlwaysFindsOne) {
  std::string why_not;
  const auto made = make_reactor(Kind::automatic, SocketLimits{}, why_not);
  ASSERT_TRUE(made);
  if (std::string_view((*made)->name()) == "epoll") EXPECT_FALSE(why_not.empty());
}

}  // namespace
}  // namespace ebb::reactor
