// The server over real sockets: requests in every shape, limits, time-outs, the guard.
#include "admin/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <vector>

#include "admin/blocking_client.h"

namespace ebb::admin {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using testing::HasSubstr;

// Less than a test waits, and more than a busy machine takes to send the beginning of a request.
constexpr std::chrono::seconds in_time{2};
constexpr std::string_view get_echo = "GET /echo?x=1 HTTP/1.1\r\nHost: localhost\r\nAccept: a/b\r\n\r\n";

class AdminServer : public testing::Test {
 protected:
  void start(Limits limits = {}, std::string token = "") {
    server_ = std::make_unique<Server>(limits);
    server_->add("/echo", [](const Request& request, Respond respond) {
      Answer answer;
      answer.body = std::string(request.path) + "|" + std::string(request.query) + "|" + std::string(request.accept);
      respond(std::move(answer));
    });
    server_->add("/large", [](const Request&, Respond respond) {
      Answer answer;
      answer.body = std::string(large_bytes, 'x');
      respond(std::move(answer));
    });
    server_->add(wire::Method::post, "/body",
                 [](const Request& request, Respond respond) { respond({.body = std::string(request.body)}); });
    server_->add("/of/{name}/c",
                 [](const Request& request, Respond respond) { respond({.body = request.parameters[0]}); });
    server_->add("/never", [this](const Request&, Respond respond) {
      kept_.push_back(std::move(respond));
      waiting_ += 1;
      waiting_.notify_all();
    });
    server_->add("/later", [this](const Request&, Respond respond) { later_.set_value(std::move(respond)); });
    server_->add("/healthz", [](const Request&, Respond respond) { respond({.body = "ok"}); });
    server_->add_for_endpoints(wire::Method::get, "/own",
                               [](const Request&, Respond respond) { respond({.body = "own"}); });
    std::string error;
    const base::Address loopback = *base::Address::parse("127.0.0.1:0");
    ASSERT_TRUE(server_->start(
        {.admin = {.address = loopback, .token = std::move(token)}, .self_drain = {.address = loopback}}, error))
        << error;
  }
  std::unique_ptr<BlockingClient> client() { return std::make_unique<BlockingClient>(server_->address()); }
  Response ask(std::string_view request) {
    auto one = client();
    one->send(request);
    return one->read();
  }

  // One that is being served until it is closed.
  std::unique_ptr<BlockingClient> waiting_client() {
    auto one = client();
    const int before = waiting_;
    one->send("GET /never HTTP/1.1\r\nHost: localhost\r\n\r\n");
    waiting_.wait(before);
    return one;
  }
  // One after another; each is answered and kept open.
  std::vector<std::unique_ptr<BlockingClient>> answered_health_clients(int count) {
    std::vector<std::unique_ptr<BlockingClient>> all;
    for (int i = 0; i < count; ++i) {
      all.push_back(client());
      all.back()->send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
      EXPECT_EQ(all.back()->read().status, 200);
    }
    return all;
  }

  static constexpr std::size_t large_bytes = std::size_t{20} << 20;
  std::vector<Respond> kept_;
  std::atomic<int> waiting_ = 0;
  std::promise<Respond> later_;
  std::unique_ptr<Server> server_;
};

TEST_F(AdminServer, AnswersARequest) {
  start();
  const Response response = ask(get_echo);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "/echo|x=1|a/b");
  EXPECT_TRUE(response.has("Content-Type: text/plain; charset=utf-8"));
  EXPECT_TRUE(response.has("Cache-Control: no-store"));
  EXPECT_THAT(response.head, HasSubstr("\r\nDate: "));
}

TEST_F(AdminServer, ReadsAHeadSplitAtEveryByte) {
  start();
  for (std::size_t cut = 1; cut < get_echo.size(); ++cut) {
    auto one = client();
    one->send(get_echo.substr(0, cut));
    one->send(get_echo.substr(cut));
    EXPECT_EQ(one->read().body, "/echo|x=1|a/b") << cut;
  }
  auto one = client();
  for (const char byte : get_echo) one->send({&byte, 1});
  EXPECT_EQ(one->read().status, 200);
}

TEST_F(AdminServer, AnswersPipelinedRequestsInOrder) {
  start();
  auto one = client();
  std::string requests;
  for (int i = 0; i < 200; ++i) {
    requests += "GET /echo?" + std::to_string(i) + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  }
  one->send(requests);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(one->read().body, "/echo|" + std::to_string(i) + "|");
}

TEST_F(AdminServer, KeepsTheConnectionUnlessAskedNotTo) {
  start();
  auto one = client();
  for (int i = 0; i < 3; ++i) {
    one->send(get_echo);
    EXPECT_EQ(one->read().status, 200);
  }
  one->send("GET /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(one->read().has("Connection: close"));
  EXPECT_TRUE(one->at_end());
}

TEST_F(AdminServer, ClosesAfterAnHttp10Request) {
  start();
  auto one = client();
  one->send("GET /echo HTTP/1.0\r\n\r\n");
  EXPECT_EQ(one->read().body, "/echo||");
  EXPECT_TRUE(one->at_end());
}

TEST_F(AdminServer, AnswersAClientThatHasFinishedItsSide) {
  start();
  auto one = client();
  one->send(get_echo);
  one->finish();
  EXPECT_EQ(one->read().status, 200);
  EXPECT_TRUE(one->at_end());
}

TEST_F(AdminServer, LeavesTheBodyOutForHead) {
  start();
  auto one = client();
  one->send("HEAD /echo HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const Response response = one->read(false);
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(response.has("Content-Length: 7"));
  one->send(get_echo);
  EXPECT_EQ(one->read().body, "/echo|x=1|a/b");
}

TEST_F(AdminServer, KnowsItsPathsAndMethods) {
  start();
  EXPECT_EQ(ask("GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 404);
  const Response refused = ask("DELETE /echo HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(refused.status, 405);
  EXPECT_TRUE(refused.has("Allow: GET, HEAD"));
}

TEST_F(AdminServer, RefusesHostsThatAreNotThisMachine) {
  start();
  auto one = client();
  one->send("GET /echo HTTP/1.1\r\nHost: attacker.example\r\n\r\n");
  EXPECT_EQ(one->read().status, 421);
  EXPECT_TRUE(one->at_end());
  EXPECT_EQ(ask("GET http://attacker.example/echo HTTP/1.1\r\nHost: attacker.example\r\n\r\n").status, 421);
  EXPECT_EQ(ask("GET /echo HTTP/1.1\r\nHost: [::1]:9901\r\n\r\n").status, 200);
}

// The body is more than fits into the sockets' buffers: if the server closed at once, the reset would beat the answer.
TEST_F(AdminServer, RefusesBodiesAndLetsTheClientReadWhy) {
  start();
  auto one = client();
  one->send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n");
  one->send(std::string(1000000, 'x'));
  EXPECT_EQ(one->read().status, 413);
  EXPECT_EQ(ask("GET /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n").status, 411);
  EXPECT_EQ(ask("GET /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n").status, 200);
}

TEST_F(AdminServer, RefusesWhatIsNoRequest) {
  start();
  EXPECT_EQ(ask("nonsense\r\n\r\n").status, 400);
  EXPECT_EQ(ask("GET /echo HTTP/1.1\r\n\r\n").status, 400);
  EXPECT_EQ(ask("GET /" + std::string(3000, 'x') + " HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 414);
  EXPECT_EQ(ask("GET /echo HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(9000, 'x') + "\r\n\r\n").status, 431);
}

TEST_F(AdminServer, EndsAHeadThatDoesNotArriveInTime) {
  start({.request = in_time});
  auto one = client();
  one->send("GET /echo HTTP/1.1\r\nHo");
  EXPECT_EQ(one->read().status, 408);
  EXPECT_TRUE(one->at_end());
}

TEST_F(AdminServer, EndsAnIdleConnectionWithoutAWord) {
  start({.request = in_time});
  auto one = client();
  EXPECT_EQ(one->read_to_end(), "");
  one = client();
  one->send(get_echo);
  EXPECT_EQ(one->read().status, 200);
  EXPECT_EQ(one->read_to_end(), "");
}

TEST_F(AdminServer, SendsALargeAnswerWhole) {
  start();
  auto one = client();
  one->send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
  one->send(get_echo);
  EXPECT_EQ(one->read().body.size(), large_bytes);
  EXPECT_EQ(one->read().body, "/echo|x=1|a/b");
}

TEST_F(AdminServer, DoesNotWaitForeverForAClientThatDoesNotRead) {
  start({.serve = milliseconds{50}, .answer = milliseconds{50}});
  auto one = client();
  one->send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ask(get_echo);
  // The deadline is kept by the server alone: until it has passed, the rest of the body would still come.
  auto idle = client();
  idle->send("GET /never HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(idle->read_to_end(), "");  // began later, so that the first one's deadline has passed as well
  EXPECT_LT(one->read_to_end().size(), large_bytes);
}

TEST_F(AdminServer, HoldsSoManyConnectionsAndNoMore) {
  start({.connections = 2, .connections_for_health = 0, .request = minutes{5}});
  auto first = waiting_client();
  auto second = waiting_client();
  auto third = client();
  EXPECT_TRUE(third->at_end());
  kept_.front()({.body = "at last"});
  EXPECT_EQ(first->read().body, "at last");
  first->finish();
  EXPECT_TRUE(first->at_end());
  auto fourth = client();
  fourth->send(get_echo);
  EXPECT_EQ(fourth->read().status, 200);
}

TEST_F(AdminServer, MakesRoomByClosingWhatHasNeverAsked) {
  start({.connections = 3, .connections_for_health = 0, .request = minutes{5}});
  auto asked = client();
  asked->send(get_echo);
  EXPECT_EQ(asked->read().status, 200);
  std::vector<std::unique_ptr<BlockingClient>> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(client());
  EXPECT_EQ(ask(get_echo).status, 200);
  EXPECT_TRUE(silent.front()->at_end());
  asked->send(get_echo);  // still there
  EXPECT_EQ(asked->read().status, 200);
}

TEST_F(AdminServer, LeavesRoomForItsOwnHealthWhereAllAreBeingServed) {
  start({.connections = 2, .connections_for_health = 2, .request = minutes{5}});
  const auto first = waiting_client();
  const auto second = waiting_client();
  EXPECT_EQ(ask(get_echo).status, 503);
  EXPECT_EQ(ask("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").status, 200);
}

TEST_F(AdminServer, MakesRoomAmongThoseThatAskForHealthOnly) {
  start({.connections = 2, .connections_for_health = 2, .request = minutes{5}});
  const auto first = waiting_client();
  const auto second = waiting_client();
  const auto held = answered_health_clients(20);
  EXPECT_TRUE(held.front()->at_end());
  EXPECT_EQ(ask(get_echo).status, 503);  // the reserve has not become a part of the rest
}

TEST_F(AdminServer, MakesRoomByClosingTheLongestIdle) {
  start({.connections = 3, .connections_for_health = 0, .request = minutes{5}});
  const auto served = waiting_client();
  std::vector<std::unique_ptr<BlockingClient>> idle;
  for (int i = 0; i < 20; ++i) {
    idle.push_back(client());
    idle.back()->send(get_echo);
    EXPECT_EQ(idle.back()->read().status, 200);
  }
  EXPECT_TRUE(idle.front()->at_end());
  idle.back()->send(get_echo);
  EXPECT_EQ(idle.back()->read().status, 200);
  kept_.front()({.body = "at last"});
  EXPECT_EQ(served->read().body, "at last");
}

TEST_F(AdminServer, MakesRoomByClosingOneThatDoesNotReadItsAnswer) {
  start({.connections = 2, .connections_for_health = 0, .request = minutes{5}, .answer = minutes{5}});
  std::vector<std::unique_ptr<BlockingClient>> unread;
  for (int i = 0; i < 4; ++i) {
    unread.push_back(client());
    unread.back()->send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  EXPECT_EQ(ask(get_echo).status, 200);
}

TEST_F(AdminServer, KeepsSoManyUnreadBytesAndNoMore) {
  start({.request = minutes{5}, .answer = minutes{5}});
  std::vector<std::unique_ptr<BlockingClient>> unread;
  for (int i = 0; i < 12; ++i) {
    unread.push_back(client());
    unread.back()->send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(ask(get_echo).status, 200);  // its answer has been made
  }
  EXPECT_LT(unread.front()->read_to_end().size(), large_bytes);
  EXPECT_EQ(unread.back()->read().body.size(), large_bytes);
}

TEST_F(AdminServer, LetsOnePeerHaveAPartOfThemOnly) {
  start({.connections = 100, .connections_per_peer = 2, .request = minutes{5}});
  const auto first = waiting_client();
  const auto second = waiting_client();
  EXPECT_EQ(ask(get_echo).status, 503);
}

TEST_F(AdminServer, LeavesRoomForItsOwnHealthToAPeerThatHasUsedUpItsPart) {
  start({.connections = 100, .connections_per_peer = 2, .connections_for_health = 2, .request = minutes{5}});
  const auto first = waiting_client();
  const auto second = waiting_client();
  const auto held = answered_health_clients(20);
  EXPECT_TRUE(held.front()->at_end());
  EXPECT_EQ(ask(get_echo).status, 503);  // those that ask for health have not made its part larger
  kept_.front()({.body = "at last"});
  EXPECT_EQ(first->read().body, "at last");
  EXPECT_EQ(ask(get_echo).status, 200);  // in the place of the one that is now only held open
}

TEST_F(AdminServer, KeepsTheBudgetsOfItsListenersApart) {
  start({.connections = 4, .connections_for_health = 0, .request = minutes{5}});
  std::vector<std::unique_ptr<BlockingClient>> others;
  for (int i = 0; i < 20; ++i) {
    others.push_back(std::make_unique<BlockingClient>(server_->self_drain_address()));
    others.back()->send("GET /own HTTP/1.1\r\nHost: localhost\r\n\r\n");
    if (i < 4) {
      EXPECT_EQ(others.back()->read().status, 200);
    }
  }
  auto one = client();
  for (int i = 0; i < 3; ++i) {
    one->send(get_echo);
    EXPECT_EQ(one->read().status, 200);
  }
}

TEST_F(AdminServer, TakesAnAnswerFromAnotherThread) {
  start();
  auto one = client();
  one->send("GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n");
  Respond respond = later_.get_future().get();
  Answer answer;
  answer.body = "first";
  respond(std::move(answer));
  EXPECT_EQ(one->read().body, "first");
  respond({});  // only the first counts
  one->send(get_echo);
  EXPECT_EQ(one->read().body, "/echo|x=1|a/b");
}

TEST_F(AdminServer, MayBeGoneWhenTheAnswerComes) {
  start();
  auto one = client();
  one->send("GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n");
  Respond respond = later_.get_future().get();
  server_.reset();
  respond({});
  EXPECT_EQ(one->read_to_end(), "");
}

TEST_F(AdminServer, HandsABodyOver) {
  start();
  auto one = client();
  one->send("POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n01234");
  one->send("56789");
  EXPECT_EQ(one->read().body, "0123456789");
  one->send("POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabcPOST /body HTTP/1.1\r\n");
  EXPECT_EQ(one->read().body, "abc");
  one->send("Host: localhost\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(one->read().body, "");
  EXPECT_EQ(ask("POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 65536\r\n\r\n" + std::string(65536, 'x'))
                .body.size(),
            65536u);
  EXPECT_EQ(ask("POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 65537\r\n\r\n").status, 413);
}

TEST_F(AdminServer, TellsAClientThatAsksToSendItsBody) {
  start();
  auto one = client();
  one->send("POST /body HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(one->read(false).status, 100);
  one->send("ok");
  EXPECT_EQ(one->read().body, "ok");
}

TEST_F(AdminServer, EndsABodyThatDoesNotArriveInTime) {
  start({.request = in_time});
  auto one = client();
  one->send("POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n01234");
  EXPECT_EQ(one->read().status, 408);
}

TEST_F(AdminServer, FindsParametersInPaths) {
  start();
  EXPECT_EQ(ask("GET /of/a%2Fb/c HTTP/1.1\r\nHost: localhost\r\n\r\n").body, "a/b");
  EXPECT_EQ(ask("GET /of//c HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 404);
  EXPECT_EQ(ask("GET /of/%zz/c HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 404);
  EXPECT_EQ(ask("GET /of/a HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 404);
  EXPECT_TRUE(ask("PUT /body HTTP/1.1\r\nHost: localhost\r\n\r\n").has("Allow: POST"));
}

// A form on a page of another site can send a POST to this machine, with a Host that looks right.
TEST_F(AdminServer, RefusesChangesThatPagesOfOtherSitesAskFor) {
  start();
  const std::string head = "POST /body HTTP/1.1\r\nHost: localhost:9901\r\nContent-Length: 0\r\nOrigin: ";
  EXPECT_EQ(ask(head + "http://attacker.example\r\n\r\n").status, 403);
  EXPECT_EQ(ask(head + "null\r\n\r\n").status, 403);
  EXPECT_EQ(ask(head + "http://localhost:9901\r\n\r\n").status, 200);
}

TEST_F(AdminServer, AsksForItsToken) {
  start({}, "a secret of many letters");
  const std::string head = "GET /echo HTTP/1.1\r\nHost: router.example\r\n";
  const Response refused = ask(head + "\r\n");
  EXPECT_EQ(refused.status, 401);
  EXPECT_TRUE(refused.has("WWW-Authenticate: Bearer"));
  EXPECT_EQ(ask(head + "Authorization: Bearer a secret\r\n\r\n").status, 401);
  EXPECT_EQ(ask(head + "Authorization: Basic a secret of many letters\r\n\r\n").status, 401);
  EXPECT_EQ(ask(head + "Authorization: Bearer a secret of many letters!\r\n\r\n").status, 401);
  EXPECT_EQ(ask(head + "Authorization: bearer a secret of many letters\r\n\r\n").status, 200);
  // Probes bring none.
  EXPECT_EQ(ask("GET /readyz HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n").status, 404);
}

TEST_F(AdminServer, ListensOnLoopbackOnly) {
  Server server;
  std::string error;
  EXPECT_FALSE(server.start({.admin = {.address = *base::Address::parse("0.0.0.0:0")}}, error));
  EXPECT_THAT(error, HasSubstr("0.0.0.0:0 is not a loopback address"));
}

}  // namespace
}  // namespace ebb::admin
