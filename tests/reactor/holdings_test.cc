// What a reactor says that it holds, beside what the process has open.
#include "reactor/holdings.h"

#include <fcntl.h>

#include <algorithm>
#include <set>

#include "reactor/fixture.h"

namespace ebb::reactor {
namespace {

class HoldingsTest : public ReactorTest {
 protected:
  void SetUp() override {
    before_ = descriptors();
    ReactorTest::SetUp();
  }

  static std::set<int> descriptors() {
    std::set<int> open;
    for (int number = 0; number < 4096; ++number) {
      if (::fcntl(number, F_GETFD) >= 0) open.insert(number);
    }
    return open;
  }
  // Without those that were there before, and without the peers.
  std::set<int> opened(std::initializer_list<int> peers = {}) {
    std::set<int> open = descriptors();
    for (const int number : before_) open.erase(number);
    for (const int number : peers) open.erase(number);
    return open;
  }
  Holdings holdings() {
    Holdings all;
    for (HoldingsCursor cursor; reactor_->read_holdings(cursor, all);) {
    }
    return all;
  }
  static std::set<int> numbers(const Holdings& holdings) {
    std::set<int> held;
    for (const Holding& one : holdings) EXPECT_TRUE(held.insert(one.descriptor).second) << "held twice";
    return held;
  }
  const Holding* find(const Holdings& all, SocketId id) {
    const auto found = std::ranges::find_if(
        all, [id](const Holding& one) { return one.kind == Holding::Kind::open && one.socket == id; });
    return found == all.end() ? nullptr : &*found;
  }

  std::set<int> before_;
};

TEST_P(HoldingsTest, AreAllThatItHasOpened) {
  EXPECT_EQ(numbers(holdings()), opened());
  const auto datagrams = reactor_->bind_datagrams(*base::Address::parse("127.0.0.1:0"), {7, {0, 1}});
  ASSERT_TRUE(datagrams);
  const auto flow = reactor_->connect_datagrams(reactor_->datagram_address(*datagrams), {8, {0, 1}});
  ASSERT_TRUE(flow);
  {
    recorder_->mode_when_accepted = Receive::paused;
    Pair one = accept_one();
    Pair other = accept_one();
    EXPECT_EQ(numbers(holdings()), opened({one.peer.get(), other.peer.get()}));
    reactor_->pump(one.ours->id, other.ours->id, 1 << 20);
    plain_send(one.peer.get(), "bytes");
    run_until([&] { return one.ours->pumped > 0; });
    EXPECT_EQ(numbers(holdings()), opened({one.peer.get(), other.peer.get()}));  // with a pipe
    reactor_->close(one.ours->id, CloseMode::drop);
    reactor_->close(other.ours->id, CloseMode::drop);
    run_rounds(3);
    EXPECT_EQ(numbers(holdings()), opened({one.peer.get(), other.peer.get()}));  // with the pipe in its pool
  }
  EXPECT_TRUE(reactor_->holds(*datagrams, {7, {0, 1}}));
  EXPECT_FALSE(reactor_->holds(*datagrams, {8, {0, 1}}));
  reactor_->close_datagrams(*datagrams);
  EXPECT_FALSE(reactor_->holds(*datagrams, {7, {0, 1}}));
  EXPECT_EQ(numbers(holdings()), opened());
}

TEST_P(HoldingsTest, NameTheOwnerAndTheInode) {
  Pair pair = accept_one();
  const Holdings all = holdings();
  const Holding* one = find(all, pair.ours->id);
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(one->owner, pair.ours->owner);
  EXPECT_EQ(one->inode, inode_of(one->descriptor));
  EXPECT_NE(one->opened, base::Instant{});
  EXPECT_TRUE(reactor_->holds(pair.ours->id, pair.ours->owner));
  EXPECT_FALSE(reactor_->holds(pair.ours->id, Owner{}));
  reactor_->close(pair.ours->id, CloseMode::drop);
  EXPECT_FALSE(reactor_->holds(pair.ours->id, pair.ours->owner));
  run_rounds(3);
  const Holdings left = holdings();
  EXPECT_EQ(find(left, pair.ours->id), nullptr);
}

TEST_P(HoldingsTest, OfASocketThatWasClosedWithOutputLinger) {
  Pair pair = accept_one();
  send(*pair.ours, std::string(16 << 20, 'x'));
  run_rounds(2);
  reactor_->close(pair.ours->id, CloseMode::flush);
  run_rounds(2);
  const Holdings all = holdings();
  EXPECT_EQ(std::ranges::count(all, Holding::Kind::lingering, &Holding::kind), 1);
  EXPECT_EQ(numbers(all), opened({pair.peer.get()}));
}

TEST_P(HoldingsTest, ComeInStepsThatAreBounded) {
  constexpr std::size_t count = 600;
  std::vector<Descriptor> peers;
  recorder_->mode_when_accepted = Receive::watchful;
  listen();
  for (std::size_t i = 0; i < count; ++i) {
    peers.push_back(plain_connect(address_));
    run_until([&] { return recorder_->accepted.size() == i + 1; });
  }
  Holdings all;
  HoldingsCursor cursor;
  std::size_t steps = 0;
  for (bool more = true; more; ++steps) {
    Holdings page;
    more = reactor_->read_holdings(cursor, page);
    EXPECT_LE(page.size(), holdings_at_once);
    all.insert(all.end(), page.begin(), page.end());
  }
  EXPECT_GE(steps, count / holdings_at_once);
  EXPECT_EQ(std::ranges::count(all, Holding::Kind::open, &Holding::kind), static_cast<std::ptrdiff_t>(count));
}

INSTANTIATE_TEST_SUITE_P(Reactors, HoldingsTest, testing::Values(Kind::epoll, Kind::uring),
                         [](const auto& kind) { return kind.param == Kind::epoll ? "Epoll" : "Uring"; });

}  // namespace
}  // namespace ebb::reactor
