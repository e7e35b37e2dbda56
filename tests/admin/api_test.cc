// Backends, endpoints and connections over HTTP, and the document that describes them.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <future>

#include "admin/control_fixture.h"
#include "admin/openapi.h"
#include "admin/web_files.h"

namespace ebb::admin {
namespace {

using testing::HasSubstr;
using wire::JsonValue;

using Api = ControlTest;

std::string method_key(wire::Method method) {
  switch (method) {
    case wire::Method::get: return "get";
    case wire::Method::post: return "post";
    case wire::Method::patch: return "patch";
    case wire::Method::put: return "put";
    case wire::Method::delete_: return "delete";
    default: return "";
  }
}

TEST_F(Api, AsksTheWorkersOnceForManyWhoWait) {
  std::atomic<int> questions = 0;
  sources_.endpoints = [&](std::size_t worker) {
    questions += 1;
    return facts(worker);
  };
  std::promise<void> held;
  workers_[0].post([until = held.get_future()]() mutable { until.wait(); });
  std::vector<std::unique_ptr<BlockingClient>> clients;
  for (int i = 0; i < 50; ++i) {
    clients.push_back(std::make_unique<BlockingClient>(server_.address()));
    clients.back()->send("GET /api/v1/endpoints HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  ask("GET", "/api/v1/config");  // behind all of them
  held.set_value();
  for (const auto& client : clients) EXPECT_EQ(client->read().status, 200);
  EXPECT_LT(questions, 20);  // of two workers
}

TEST_F(Api, SaysThatAWorkerIsMissingFromItsSums) {
  const char* const paths[] = {"/api/v1/backends", "/api/v1/backends/api", "/api/v1/endpoints",
                               "/api/v1/backends/api/endpoints/a"};
  for (const char* path : paths) EXPECT_EQ(text(json(ask("GET", path)), "workers_silent"), "0") << path;
  std::promise<void> held;
  workers_[0].post([until = held.get_future()]() mutable { until.wait(); });
  for (const char* path : paths) EXPECT_EQ(text(json(ask("GET", path)), "workers_silent"), "1") << path;
  held.set_value();
}

TEST_F(Api, DocumentsEveryPathThatItAnswersAndNoOther) {
  const Response response = ask("GET", "/api/v1/openapi.json");
  EXPECT_EQ(response.body, openapi_document());
  const JsonValue document = json(response);
  const JsonValue* const paths = document.find("paths");
  ASSERT_NE(paths, nullptr);
  std::vector<std::string> documented;
  for (const wire::JsonMember& path : paths->members) {
    for (const wire::JsonMember& method : path.value.members) {
      if (method.name != "parameters") documented.push_back(method.name + " " + path.name);
    }
  }
  std::vector<std::string> served;
  for (const Router::Documented& route : server_.router().routes()) {
    served.push_back(method_key(route.method) + " " + route.path);
  }
  std::ranges::sort(documented);
  std::ranges::sort(served);
  EXPECT_EQ(documented, served);
}

// Quoted in the page and its scripts, as in href="/metrics" and from "./api.js".
std::vector<std::string> links(std::string_view text, std::string_view before) {
  std::vector<std::string> found;
  for (std::size_t at = 0; (at = text.find(before, at)) != std::string_view::npos;) {
    at += before.size();
    found.emplace_back(text.substr(at, text.find('"', at) - at));
  }
  return found;
}

TEST_F(Api, TheDashboardLoadsAndLinksToWhatExists) {
  const Response index = ask("GET", "/");
  EXPECT_THAT(index.head, HasSubstr("Content-Security-Policy: default-src 'none'; script-src 'self'"));
  std::vector<std::string> paths = links(index.body, "href=\"/");
  std::ranges::copy(links(index.body, "src=\"/"), std::back_inserter(paths));
  EXPECT_GT(paths.size(), 5u);
  for (const WebFile& file : web_files()) {
    for (const std::string& imported : links(file.body, "from \"./")) paths.push_back("web/" + imported);
  }
  for (const std::string& path : paths) EXPECT_EQ(ask("GET", "/" + path).status, 200) << path;
  EXPECT_EQ(ask("GET", "/web/none.js").status, 404);
}

TEST_F(Api, ShowsWhatTheAuditFound) {
  sources_.audit = [] {
    observe::AuditReport report{.every = std::chrono::seconds{10}, .runs = 3, .open = 20, .differences = 2};
    observe::FoundDifference& held = report.shown.emplace_back();
    held.difference = {.kind = observe::DifferenceKind::closed, .descriptor = 7};
    held.last_held = observe::Claim{.descriptor = 7, .kind = observe::ClaimKind::backend, .inode = 70};
    held.held_by = "worker 1";
    held.history = {.whose = "api/a", .state = "leased", .age = std::chrono::seconds{2}};
    report.shown.emplace_back().difference = {.descriptor = 9, .inode = 90};
    return report;
  };
  const JsonValue audit = json(ask("GET", "/api/v1/audit"));
  EXPECT_EQ(text(audit, "every_ms"), "10000");
  EXPECT_EQ(text(audit, "differences_total"), "2");
  EXPECT_EQ(text(*audit.find("held"), "client"), "0");
  ASSERT_EQ(audit.find("differences")->items.size(), 2u);
  const JsonValue& closed = audit.find("differences")->items[0];
  EXPECT_EQ(text(closed, "difference"), "closed");
  EXPECT_EQ(text(*closed.find("held"), "by"), "worker 1");
  EXPECT_EQ(text(*closed.find("held"), "as"), "backend");
  EXPECT_EQ(text(*closed.find("held"), "whose"), "api/a");
  EXPECT_EQ(text(*closed.find("held"), "age_ms"), "2000");
  const JsonValue& unclaimed = audit.find("differences")->items[1];
  EXPECT_EQ(text(unclaimed, "difference"), "unclaimed");
  EXPECT_EQ(text(unclaimed, "inode"), "90");
  EXPECT_EQ(unclaimed.find("held")->kind, JsonValue::Kind::null);
}

TEST_F(Api, ShowsBackends) {
  const JsonValue all = json(ask("GET", "/api/v1/backends"));
  ASSERT_EQ(all.find("backends")->items.size(), 2u);
  const JsonValue& api = all.find("backends")->items[0];
  EXPECT_EQ(text(api, "name"), "api");
  EXPECT_EQ(text(api, "endpoints_total"), "2");
  EXPECT_EQ(text(api, "endpoints_ready"), "2");
  EXPECT_EQ(text(*api.find("queue"), "waiting"), "2");  // of both workers
  EXPECT_EQ(json(ask("GET", "/api/v1/backends/api")).find("endpoints")->items.size(), 2u);
  EXPECT_EQ(ask("GET", "/api/v1/backends/none").status, 404);
}

TEST_F(Api, AddsUpWhatWorkersKnowOfAnEndpoint) {
  make_busy(0, identity("api", "a"), 2);
  make_busy(1, identity("api", "a"), 3);
  const JsonValue endpoint = json(ask("GET", "/api/v1/backends/api/endpoints/a"));
  EXPECT_EQ(text(endpoint, "address"), "10.0.0.1:80");
  EXPECT_EQ(text(endpoint, "membership"), "present");
  EXPECT_EQ(text(endpoint, "wish"), "ready");
  EXPECT_EQ(text(endpoint, "health"), "up");
  EXPECT_EQ(text(*endpoint.find("in_flight"), "streaming"), "5");
  EXPECT_EQ(text(*endpoint.find("counters"), "requests"), "30");
  EXPECT_EQ(ask("GET", "/api/v1/backends/api/endpoints/none").status, 404);
}

TEST_F(Api, ChangesAnEndpoint) {
  const Response response =
      ask("PATCH", "/api/v1/backends/api/endpoints/a", R"({"wish": "drain", "weight": 9, "address": "10.0.0.7:81"})");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(text(json(response), "wish"), "drain");
  EXPECT_EQ(roster_.find("api", "a")->weight, 9u);
  EXPECT_EQ(roster_.find("api", "a")->address.text(), "10.0.0.7:81");
  EXPECT_EQ(published_, 3);
}

TEST_F(Api, RefusesChangesThatItDoesNotUnderstand) {
  const auto status = [this](const std::string& body) {
    const Response response = ask("PATCH", "/api/v1/backends/api/endpoints/a", body);
    EXPECT_THAT(response.body, HasSubstr("\"remedy\":"));
    return response.status;
  };
  for (const std::string body : {"{", "[]", R"({"wsh": "drain"})", R"({"wish": "gone"})", R"({"wish": 1})",
                                 R"({"weight": 257})", R"({"weight": "1"})", R"({"weight": -1})", R"({"weight": 1.5})",
                                 R"({"address": "nowhere"})", R"({"address": "10.0.0.1:0"})"}) {
    EXPECT_EQ(status(body), 400) << body;
  }
  EXPECT_EQ(published_, 0);
}

TEST_F(Api, AddsAndRemovesEndpoints) {
  const std::string path = "/api/v1/backends/api/endpoints";
  EXPECT_EQ(ask("POST", path, R"({"name": "c"})").status, 400);
  EXPECT_EQ(ask("POST", path, R"({"name": "c d", "address": "10.0.0.3:80"})").status, 400);
  EXPECT_EQ(ask("POST", path, R"({"name": "c", "address": "10.0.0.3:80", "weight": 4})").status, 201);
  EXPECT_EQ(ask("POST", path, R"({"name": "c", "address": "10.0.0.3:80"})").status, 409);
  EXPECT_EQ(roster_.find("api", "c")->wish, lifecycle::Wish::ready);
  EXPECT_EQ(ask("DELETE", path + "/c").status, 409);  // not in maintenance
  EXPECT_EQ(ask("PATCH", path + "/c", R"({"wish": "maint"})").status, 200);
  make_busy(1, identity("api", "c"));
  EXPECT_EQ(ask("DELETE", path + "/c").status, 409);
  end_work_of_all(identity("api", "c"));
  EXPECT_EQ(ask("DELETE", path + "/c").status, 204);
  EXPECT_EQ(ask("DELETE", path + "/c").status, 404);
}

TEST_F(Api, ListsConnectionsByConditionAndEndsOne) {
  const JsonValue all = json(ask("GET", "/api/v1/connections?backend=api&endpoint=a&client=192.0.2.1&state=serving"));
  ASSERT_EQ(all.find("connections")->items.size(), 1u);
  const JsonValue& connection = all.find("connections")->items[0];
  EXPECT_EQ(text(connection, "id"), "1-4-1");
  EXPECT_EQ(text(connection, "client"), "192.0.2.1:5000");
  EXPECT_EQ(text(connection.find("exchanges")->items[0], "endpoint"), "a");
  for (const std::string other : {"backend=local", "endpoint=b", "client=192.0.2.2", "state=idle", "idle_for=1s"}) {
    EXPECT_TRUE(json(ask("GET", "/api/v1/connections?" + other)).find("connections")->items.empty()) << other;
  }
  EXPECT_EQ(ask("GET", "/api/v1/connections?idle_for=long").status, 400);
  EXPECT_EQ(text(json(ask("GET", "/api/v1/connections?limit=0")), "more"), "true");
  EXPECT_EQ(ask("DELETE", "/api/v1/connections/1-4-1").status, 204);
  for (const std::string other : {"0-4-1", "1-4-3", "7-4-1", "1-4", "1-4-1-1", "x"}) {
    EXPECT_EQ(ask("DELETE", "/api/v1/connections/" + other).status, 404) << other;
  }
}

}  // namespace
}  // namespace ebb::admin
