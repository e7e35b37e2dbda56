#include "admin/pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>

#include "admin/blocking_client.h"
#include "admin/fake_worker.h"

namespace ebb::serve {

// Nothing is known to bring a machine to an event that it has no row for, so the test does.
struct MissingRow {
  static void meet(Server& server) {
    Server::Connection* idle = nullptr;
    server.connections_.for_each([&idle](base::Handle, Server::Connection& one) {
      const bool asked = one.life.is(Server::State::open) && one.protocol->turn() > 0;
      if (idle == nullptr && asked && one.protocol->waiting() == Protocol::Waiting::request) idle = &one;
    });
    ASSERT_NE(idle, nullptr);
    server.step(*idle, Server::Event::secured);
  }
};

}  // namespace ebb::serve

namespace ebb::admin {

struct MissingRow {
  static void meet(Server& server) { serve::MissingRow::meet(*server.serve_); }
};

namespace {

using testing::HasSubstr;
using testing::Not;

class Pages : public testing::Test {
 protected:
  // A busy machine may keep a worker that does not hang from the processor for a while.
  void start(std::initializer_list<bool> workers_hang, base::Duration timeout = std::chrono::minutes{1}) {
    static constexpr std::string_view states[] = {"idle", "busy"};
    for (const bool hangs : workers_hang) workers_.emplace_back(hangs);
    sources_.workers = workers_.size();
    sources_.post = [this](std::size_t worker, std::move_only_function<void()> task) {
      workers_[worker].post(std::move(task));
    };
    sources_.counters = [](std::size_t worker) {
      observe::Counters counters;
      counters.client_accepted = worker + 1;
      counters.client_connections[1] = 10;
      return counters;
    };
    sources_.readiness = [this] { return Readiness{ready_, ready_ ? "2 listeners open" : "draining"}; };
    sources_.config = [this] { return config_; };
    sources_.labels = &labels_;
    sources_.client_states = sources_.backend_states = states;
    sources_.version = "0.1.0";
    add_pages(server_, sources_, timeout);
    std::string error;
    ASSERT_TRUE(server_.start({.admin = {.address = *base::Address::parse("127.0.0.1:0")}}, error)) << error;
  }
  Response get(std::string_view path, std::string_view accept = "*/*") {
    BlockingClient client(server_.address());
    client.send("GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\nAccept: " + std::string(accept) +
                "\r\n\r\n");
    return client.read();
  }

  base::Labels labels_;
  std::atomic<bool> ready_ = true;
  ConfigStatus config_;
  Sources sources_;
  std::deque<FakeWorker> workers_;
  Server server_;
};

TEST_F(Pages, HealthIsThatAllWorkersAnswer) {
  start({false, false});
  const Response response = get("/healthz");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "ok\n");
}

TEST_F(Pages, HealthNamesTheWorkersThatDoNotAnswer) {
  start({false, true, true}, std::chrono::seconds{3});
  const Response response = get("/healthz");
  EXPECT_EQ(response.status, 503);
  EXPECT_THAT(response.body, HasSubstr("worker 1, 2"));
}

TEST_F(Pages, ReadinessTellsItsReason) {
  start({});
  EXPECT_EQ(get("/readyz").status, 200);
  ready_ = false;
  const Response response = get("/readyz");
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.body, "not ready: draining\n");
}

TEST_F(Pages, MetricsAddTheWorkersUp) {
  start({false, false});
  const Response response = get("/metrics");
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(response.has("Content-Type: text/plain; version=0.0.4; charset=utf-8"));
  EXPECT_THAT(response.body, HasSubstr("\nebbgate_connections_accepted_total 3\n"));
  EXPECT_THAT(response.body, HasSubstr("\nebbgate_connections{side=\"client\",state=\"busy\"} 20\n"));
  EXPECT_THAT(response.body, HasSubstr("\nebbgate_workers_silent 0\n"));
  EXPECT_THAT(response.body, Not(HasSubstr("process_resident_memory_bytes 0\n")));
}

TEST_F(Pages, MetricsComeWithoutTheWorkersThatDoNotAnswer) {
  start({true, false}, std::chrono::seconds{3});
  const Response response = get("/metrics");
  EXPECT_THAT(response.body, HasSubstr("\nebbgate_connections_accepted_total 2\n"));
  EXPECT_THAT(response.body, HasSubstr("\nebbgate_workers_silent 1\n"));
}

TEST_F(Pages, AMissingRowClosesOneConnectionOfTheServerItselfAndIsCounted) {
  start({false});
  EXPECT_THAT(get("/metrics").body, HasSubstr("\nebbgate_missing_transitions_total 0\n"));
  BlockingClient broken(server_.address());
  broken.send("GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(broken.read().status, 200);
  server_.door()->post([this] { MissingRow::meet(server_); });
  EXPECT_TRUE(broken.at_end());
  EXPECT_THAT(get("/metrics").body, HasSubstr("\nebbgate_missing_transitions_total 1\n"));
}

TEST_F(Pages, MetricsSpeakOpenMetricsIfAsked) {
  start({false});
  const Response response = get("/metrics", "application/openmetrics-text;version=1.0.0");
  EXPECT_TRUE(response.has("Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8"));
  EXPECT_TRUE(response.body.ends_with("# EOF\n"));
}

TEST_F(Pages, ConfigTellsTheGenerationAndTheLastRefusal) {
  config_.generation = 7;
  config_.digest = "beef";
  config_.applied_at = base::WallTime{std::chrono::seconds{971186136}};
  start({});
  Response response = get("/api/v1/config");
  EXPECT_TRUE(response.has("Content-Type: application/json"));
  EXPECT_EQ(response.body,
            "{\"generation\":7,\"digest\":\"beef\",\"applied_at\":\"2000-10-10T13:55:36.000000Z\","
            "\"last_refusal\":null}\n");
}

TEST_F(Pages, ConfigEscapesTheReason) {
  config_.last_refusal = ConfigStatus::Refusal{.at = {}, .reason = "a.yaml:3:1: \"x\"\nis unknown"};
  start({});
  EXPECT_THAT(get("/api/v1/config").body,
              HasSubstr(R"("last_refusal":{"at":"1970-01-01T00:00:00.000000Z","reason":"a.yaml:3:1: \"x\"\u000ais)"));
}

}  // namespace
}  // namespace ebb::admin
