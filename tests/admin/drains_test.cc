// Drains and their receipts, over HTTP.
#include <gmock/gmock.h>

#include <future>

#include "admin/control_fixture.h"

namespace ebb::admin {
namespace {

using lifecycle::Membership;
using lifecycle::Wish;
using testing::HasSubstr;
using testing::StartsWith;
using wire::JsonValue;

class DrainTest : public ControlTest {
 protected:
  // Of a new drain.
  std::string drain(const std::string& endpoint, const std::string& more = "") {
    const Response response = ask("POST", "/api/v1/drains", R"({"endpoint": ")" + endpoint + "\"" + more + "}");
    EXPECT_EQ(response.status, 201) << response.body;
    return text(json(response), "id");
  }
  std::string state(const std::string& id, const std::string& wait = "0s") {
    return text(json(ask("GET", "/api/v1/drains/" + id + "?wait=" + wait)), "state");
  }
  std::future<std::string> state_later(const std::string& id) {
    return std::async(std::launch::async, [this, id] { return state(id, "60s"); });
  }
};

TEST_F(DrainTest, IsOverAtOnceWhenNothingIsInFlight) {
  const Response response = ask("POST", "/api/v1/drains?wait=30s", R"({"endpoint": "10.0.0.1:80"})");
  EXPECT_EQ(response.status, 201);
  const JsonValue report = json(response);
  EXPECT_EQ(text(report, "state"), "drained");
  EXPECT_EQ(text(report, "drained"), "true");
  EXPECT_TRUE(response.has("Location: /api/v1/drains/" + text(report, "id")));
  EXPECT_EQ(roster_.find("api", "a")->membership, Membership::leaving);
}

TEST_F(DrainTest, WaitsForEveryWorker) {
  const std::uint64_t a = identity("api", "a");
  make_busy(0, a);
  make_busy(1, a);
  const std::string id = drain("api/a");
  const JsonValue report = json(ask("GET", "/api/v1/drains/" + id));
  EXPECT_EQ(text(report, "state"), "draining");
  EXPECT_EQ(text(*report.find("endpoints")->items[0].find("in_flight"), "streaming"), "2");
  auto receipt = state_later(id);
  end_work(0, a);
  EXPECT_EQ(state(id), "draining");
  end_work(1, a);
  EXPECT_EQ(receipt.get(), "drained");
}

TEST_F(DrainTest, TellsWhatIsOpenAtTheEndOfTheWait) {
  make_busy(1, identity("api", "a"), 3);
  const JsonValue report = json(ask("GET", "/api/v1/drains/" + drain("api/a") + "?wait=20ms"));
  EXPECT_EQ(text(report, "drained"), "false");
  EXPECT_EQ(text(*report.find("endpoints")->items[0].find("in_flight"), "total"), "3");
}

// One worker got work while the other was still busy: the first one's word is worth nothing any more.
TEST_F(DrainTest, LooksAgainBeforeItSaysDrained) {
  const std::uint64_t a = identity("api", "a");
  make_busy(1, a);
  const std::string id = drain("api/a");
  auto receipt = state_later(id);
  make_busy(0, a);
  end_work(1, a);
  EXPECT_EQ(state(id), "draining");
  end_work(0, a);
  EXPECT_EQ(receipt.get(), "drained");
}

TEST_F(DrainTest, IsNotDrainedAnyMoreWhenItGotWorkAgain) {
  const std::uint64_t a = identity("api", "a");
  const std::string id = drain("api/a");
  EXPECT_EQ(state(id, "30s"), "drained");
  make_busy(0, a);
  EXPECT_EQ(state(id), "draining");
  auto receipt = state_later(id);
  end_work(0, a);
  EXPECT_EQ(receipt.get(), "drained");
}

TEST_F(DrainTest, IsSharedByThoseWhoAskForTheSame) {
  make_busy(0, identity("api", "a"));
  const std::string id = drain("api/a");
  const Response second = ask("POST", "/api/v1/drains", R"({"endpoint": "10.0.0.1:80"})");
  EXPECT_EQ(second.status, 200);
  EXPECT_EQ(text(json(second), "id"), id);
  EXPECT_NE(drain("api/b"), id);
  EXPECT_EQ(json(ask("GET", "/api/v1/drains")).find("drains")->items.size(), 2u);
}

TEST_F(DrainTest, EndsAndTellsThoseWhoWait) {
  make_busy(0, identity("api", "a"));
  const std::string id = drain("api/a");
  auto receipt = state_later(id);
  EXPECT_EQ(text(json(ask("DELETE", "/api/v1/drains/" + id)), "state"), "ended");
  EXPECT_EQ(receipt.get(), "ended");
  EXPECT_EQ(roster_.find("api", "a")->membership, Membership::present);
  EXPECT_EQ(ask("DELETE", "/api/v1/drains/none").status, 404);
  EXPECT_NE(drain("api/a"), id);
}

TEST_F(DrainTest, IsEndedByWhoeverMakesTheEndpointReady) {
  make_busy(0, identity("api", "a"));
  const std::string id = drain("api/a");
  ASSERT_TRUE(roster_.set_wish("api", "a", Wish::ready));
  EXPECT_EQ(state(id), "ended");
}

// A moment without work is no receipt if new work goes to the endpoint.
TEST_F(DrainTest, SaysEndedToThoseWhoWaitWhenTheEndpointCameBack) {
  const std::uint64_t a = identity("api", "a");
  make_busy(0, a);
  const std::string id = drain("api/a");
  auto receipt = state_later(id);
  EXPECT_EQ(state(id, "20ms"), "draining");  // by then the other one waits, too
  ASSERT_TRUE(roster_.set_wish("api", "a", Wish::ready));
  end_work(0, a);
  EXPECT_EQ(receipt.get(), "ended");
}

TEST_F(DrainTest, ListsWhatIsTrueNow) {
  const std::uint64_t a = identity("api", "a");
  const std::string id = drain("api/a");
  const auto listed = [this] { return text(json(ask("GET", "/api/v1/drains")).find("drains")->items[0], "state"); };
  EXPECT_EQ(state(id, "30s"), "drained");
  EXPECT_EQ(listed(), "drained");
  make_busy(0, a);
  EXPECT_EQ(listed(), "draining");
  end_work(0, a);
  EXPECT_EQ(state(id, "30s"), "drained");
  ASSERT_TRUE(roster_.set_wish("api", "a", Wish::ready));
  EXPECT_EQ(listed(), "ended");
}

TEST_F(DrainTest, OfAnAddressIsEndedWhenItServesUnderAnotherName) {
  const std::string by_address = drain("10.0.0.1:80");
  EXPECT_EQ(state(by_address, "30s"), "drained");
  ASSERT_TRUE(roster_.add("api", {.name = "again", .address = *base::Address::parse("10.0.0.1:80")}));
  EXPECT_EQ(state(by_address), "ended");
}

TEST_F(DrainTest, SaysWhatWasCut) {
  const std::uint64_t a = identity("api", "a");
  cut_work(1, a, 3);
  const JsonValue report = json(ask("GET", "/api/v1/drains/" + drain("api/a") + "?wait=30s"));
  EXPECT_EQ(text(report, "drained"), "true");
  EXPECT_EQ(text(report, "cut"), "3");
  EXPECT_EQ(text(report.find("endpoints")->items[0], "cut"), "3");
}

// The provider was faster than the one who asks.
TEST_F(DrainTest, WaitsForEndpointsThatHaveLeft) {
  const std::uint64_t a = identity("api", "a");
  make_busy(0, a);
  gone_.push_back({.backend = "api", .name = "a", .identity = a, .address = roster_.find("api", "a")->address});
  ASSERT_TRUE(roster_.set_address("api", "a", *base::Address::parse("10.0.0.8:80")));
  const std::string id = drain("10.0.0.1:80");
  EXPECT_EQ(roster_.find("api", "a")->membership, Membership::present);  // it has the name, but is another one
  auto receipt = state_later(id);
  end_work(0, a);
  EXPECT_EQ(receipt.get(), "drained");
}

TEST_F(DrainTest, MayForbidTheLastResort) {
  const std::string id = drain("api/a", R"(, "serve_if_last": false)");
  EXPECT_EQ(roster_.find("api", "a")->wish, Wish::drain);
  EXPECT_EQ(roster_.find("api", "a")->membership, Membership::present);
  ask("DELETE", "/api/v1/drains/" + id);
  EXPECT_EQ(roster_.find("api", "a")->wish, Wish::ready);
}

TEST_F(DrainTest, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(ask("POST", "/api/v1/drains", R"({"endpoint": "10.9.9.9:80"})").status, 404);
  EXPECT_EQ(ask("POST", "/api/v1/drains", R"({"endpoint": "api"})").status, 404);
  EXPECT_EQ(ask("POST", "/api/v1/drains", R"({"endpoint": 5})").status, 400);
  EXPECT_EQ(ask("POST", "/api/v1/drains").status, 400);
  EXPECT_EQ(ask("POST", "/api/v1/drains?wait=long", R"({"endpoint": "api/a"})").status, 400);
  EXPECT_EQ(ask("GET", "/api/v1/drains/none").status, 404);
  EXPECT_EQ(published_, 0);
}

// This test asks from 127.0.0.1, which is the address of local/me.
TEST_F(DrainTest, LetsAnEndpointDrainItselfAndNothingElse) {
  const Response own = ask("POST", "/api/v1/drains?wait=30s", "", true);
  EXPECT_EQ(own.status, 201);
  const JsonValue report = json(own);
  EXPECT_EQ(text(report, "state"), "drained");
  ASSERT_EQ(report.find("endpoints")->items.size(), 1u);
  EXPECT_EQ(text(report.find("endpoints")->items[0], "name"), "me");
  EXPECT_EQ(ask("POST", "/api/v1/drains", R"({"endpoint": "127.0.0.1:9000"})", true).status, 200);
  EXPECT_EQ(ask("POST", "/api/v1/drains", R"({"endpoint": "10.0.0.1:80"})", true).status, 403);
  EXPECT_EQ(ask("POST", "/api/v1/drains", R"({"endpoint": "api/a"})", true).status, 403);
  EXPECT_EQ(roster_.find("api", "a")->membership, Membership::present);
  const std::string id = drain("api/a");
  EXPECT_EQ(ask("GET", "/api/v1/drains/" + id, "", true).status, 404);
  EXPECT_EQ(ask("DELETE", "/api/v1/drains/" + id, "", true).status, 404);
  EXPECT_EQ(ask("DELETE", "/api/v1/drains/" + text(report, "id"), "", true).status, 200);
  for (const std::string other : {"/api/v1/drains", "/api/v1/backends", "/metrics", "/", "/api/v1/connections"}) {
    EXPECT_GE(ask("GET", other, "", true).status, 404) << other;
  }
}

}  // namespace
}  // namespace ebb::admin
