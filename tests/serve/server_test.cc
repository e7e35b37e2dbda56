// The small server with a protocol that answers a line with itself: what the server does, whatever is spoken.
#include "serve/server.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "admin/blocking_client.h"

namespace ebb::serve {
namespace {

using admin::BlockingClient;
using std::chrono::milliseconds;
using std::chrono::minutes;

// "later" is answered on the way back, "last" is the last line.
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
  void start(Budget budget = {}, Patience patience = {}) {
    reactor_ = std::move(*reactor::EpollReactor::make({}));
    server_ = std::make_unique<Server>(*reactor_);
    const std::uint32_t number = server_->offer(
        {.speak = [this](const Arrival& arrival) { return std::make_unique<Lines>(reactor_->blocks(), arrival); },
         .budget = budget,
         .patience = patience});
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

TEST_F(SmallServer, LeavesBehindWhatRuns) {
  start();
  BlockingClient client(address_);
  EXPECT_EQ(ask(client, "one\n"), "one");
  server_->door()->post([this] { server_->leave(minutes{1}); });
  EXPECT_EQ(client.read_to_end(), "leaving\n");
}

}  // namespace
}  // namespace ebb::serve
