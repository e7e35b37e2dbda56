// The small server with a protocol that answers a line with itself: what the server does, whatever is spoken.
#include "serve/server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "admin/blocking_client.h"

namespace ebb::serve {
namespace {

using admin::BlockingClient;
using std::chrono::milliseconds;
using std::chrono::minutes;

constexpr std::size_t flood_bytes = std::size_t{20} << 20;
std::atomic<int> working = 0;
std::vector<WayBack> ours;  // of the server's thread

// "later" is answered on the way back, "never" is not, unless one is kicked; "last" is the last line.
class Lines final : public Protocol {
 public:
  Lines(base::BlockPool& blocks, const Arrival& arrival)
      : blocks_(blocks), way_back_(arrival.way_back), reserve_(arrival.in_reserve) {}

  void take(base::Slice bytes, base::Instant, base::Chain& out) override {
    input_ += bytes.view();
    for (std::size_t end = input_.find('\n'); end != std::string::npos && !works_; end = input_.find('\n')) {
      const std::string line = input_.substr(0, end);
      input_.erase(0, end + 1);
      turn_ += 1;
      if (line == "later") {
        works_ = true;
        way_back_.post([this](base::Chain& more) {
          works_ = false;
          more.append(blocks_, "at last\n");
        });
        return;
      }
      if (line == "never") {
        works_ = true;
        ours.push_back(way_back_);
        working += 1;
        working.notify_all();
        return;
      }
      if (line == "kick") {
        for (const WayBack& one : ours) one.post([this](base::Chain& more) { more.append(blocks_, "late\n"); });
      }
      if (line == "flood") out.push(blocks_.copy(std::string(flood_bytes, 'x')));
      over_ = line == "last";
      out.append(blocks_, (reserve_ ? "reserve " : "") + line + "\n");
    }
  }
  void refill(base::Chain&) override {}
  bool finish_input(base::Chain&) override { return works_; }
  void give_up(base::Chain& out) override { out.append(blocks_, "too late\n"); }
  void leave(base::Chain& out) override {
    over_ = !works_;
    out.append(blocks_, "leaving\n");
  }
  Waiting waiting() const override {
    return over_            ? Waiting::nothing
           : works_         ? Waiting::work
           : input_.empty() ? Waiting::request
                            : Waiting::rest_of_request;
  }
  std::uint64_t turn() const override { return turn_; }
  bool listens(bool output_waits) const override { return !output_waits; }

 private:
  base::BlockPool& blocks_;
  const WayBack way_back_;
  const bool reserve_;
  std::string input_;
  std::uint64_t turn_ = 0;
  bool works_ = false;
  bool over_ = false;
};

class SmallServer : public testing::Test {
 protected:
  void start(Budget budget = {}, TimeLimits times = {}) {
    working = 0;
    ours.clear();
    reactor_ = std::move(*reactor::EpollReactor::make({}));
    server_ = std::make_unique<Server>(*reactor_);
    const std::uint32_t number = server_->offer(
        {.speak = [this](const Arrival& arrival) { return std::make_unique<Lines>(reactor_->blocks(), arrival); },
         .budget = budget,
         .times = times});
    const auto opened = server_->listen(number, *base::Address::parse("127.0.0.1:0"));
    ASSERT_TRUE(opened);
    address_ = reactor_->local_address(*opened);
    thread_ = std::thread([this] { reactor_->run(*server_); });
  }
  void TearDown() override {
    reactor_->stop();
    thread_.join();
  }
  std::string ask(BlockingClient& client, std::string_view line) {
    client.send(line);
    return client.read_line();
  }

  std::unique_ptr<reactor::EpollReactor> reactor_;
  std::unique_ptr<Server> server_;
  base::Address address_;
  std::thread thread_;
};

TEST_F(SmallServer, GivesBytesToTheProtocolAndItsAnswersBack) {
  start();
  BlockingClient client(address_);
  EXPECT_EQ(ask(client, "one\n"), "one");
  EXPECT_EQ(ask(client, "later\n"), "at last");
  EXPECT_EQ(ask(client, "last\n"), "last");
  EXPECT_TRUE(client.at_end());
}

TEST_F(SmallServer, LetsAProtocolSayWhyItGivesUp) {
  start({}, {.first = milliseconds{50}, .request = minutes{5}, .rest_of_request = minutes{5}});
  BlockingClient client(address_);
  EXPECT_EQ(client.read_to_end(), "too late\n");
}

TEST_F(SmallServer, GivesEachRequestItsOwnTime) {
  start({}, {.first = minutes{5}, .request = milliseconds{50}, .rest_of_request = minutes{5}});
  BlockingClient client(address_);
  EXPECT_EQ(ask(client, "one\n"), "one");
  EXPECT_EQ(client.read_to_end(), "too late\n");
}

TEST_F(SmallServer, ClosesTheLongestHeldWhereTheBudgetIsUsedUp) {
  start({.connections = 2}, {.first = minutes{5}, .request = minutes{5}});
  BlockingClient first(address_);
  EXPECT_EQ(ask(first, "one\n"), "one");
  BlockingClient second(address_);
  EXPECT_EQ(ask(second, "two\n"), "two");
  BlockingClient third(address_);
  EXPECT_EQ(ask(third, "three\n"), "three");
  EXPECT_TRUE(first.at_end());
}

TEST_F(SmallServer, TellsThoseInTheReserveThatTheyAre) {
  start({.connections = 1, .reserve = 1}, {.work = minutes{5}});
  BlockingClient first(address_);
  first.send("never\n");
  while (working == 0) working.wait(0);
  BlockingClient second(address_);
  EXPECT_EQ(ask(second, "two\n"), "reserve two");
}

TEST_F(SmallServer, ForgetsAnswersToAConnectionThatIsClosed) {
  start();
  {
    BlockingClient client(address_);
    EXPECT_EQ(ask(client, "one\n"), "one");
    client.send("never\n");
    while (working == 0) working.wait(0);
    client.reset();
  }
  BlockingClient other(address_);
  EXPECT_EQ(ask(other, "kick\n"), "kick");  // the one that was closed would be answered now
  EXPECT_EQ(ask(other, "later\n"), "at last");
}

TEST_F(SmallServer, ResetsAClientThatTakesNoAnswer) {
  start({}, {.first = milliseconds{200}, .write = milliseconds{50}});
  BlockingClient client(address_);
  client.send("flood\n");
  // The deadline is kept by the server alone: until it has passed, the rest would still come.
  BlockingClient other(address_);
  EXPECT_EQ(other.read_to_end(), "too late\n");  // began later, so that the first one's deadline has passed as well
  EXPECT_LT(client.read_to_end().size(), flood_bytes);
}

TEST_F(SmallServer, LeavesBehindWhatRuns) {
  start();
  BlockingClient client(address_);
  EXPECT_EQ(ask(client, "one\n"), "one");
  server_->door()->post([this] { server_->leave(minutes{1}); });
  EXPECT_EQ(client.read_to_end(), "leaving\n");
}

}  // namespace
}  // namespace ebb::serve
