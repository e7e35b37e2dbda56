// The keys of routes, and of what they do besides sending.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load.h"
#include "tests/config/refusals.h"
#include "tests/config/temporary_folder.h"

namespace ebb::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view around =
    "listeners: [{name: web, bind: \"127.0.0.1:8080\"}]\n"
    "backends: [{name: a}, {name: b}, {name: shop}]\n";

std::expected<Loaded, Diagnostics> load_it(std::string_view text, const std::string& file = test_file) {
  return load_text(std::string(around) + std::string(text), file);
}

routes::RouteModel loaded_route(std::string_view keys) {
  auto result = load_it("routes: [{" + std::string(keys) + "}]\n");
  if (result) return std::move(result->model.routes.at(0));
  ADD_FAILURE() << text_of(result.error());
  return {};
}

std::vector<std::string> errors(std::string_view text) { return errors_of(load_it(text)); }

std::vector<std::string> route_errors(std::string_view keys) {
  return errors("routes: [{" + std::string(keys) + "}]\n");
}

TEST(RouteKeys, ReadEachKindOfPath) {
  EXPECT_EQ(loaded_route("backend: a, path: /x").path.kind, routes::PathKind::prefix);
  EXPECT_EQ(loaded_route("backend: a, path: {prefix: /x}").path.kind, routes::PathKind::prefix);
  EXPECT_EQ(loaded_route("backend: a, path: {exact: /x}").path.kind, routes::PathKind::exact);
  const routes::RouteModel by_regex = loaded_route("backend: a, path: {regex: \"/v[12]\"}");
  EXPECT_EQ(by_regex.path.kind, routes::PathKind::regex);
  EXPECT_EQ(by_regex.path.text, "/v[12]");
}

TEST(RouteKeys, RefusePathsThatAreNone) {
  EXPECT_THAT(route_errors("backend: a, path: {exact: /x, regex: /y}"),
              ElementsAre("3:29: routes[0].path: expected one key; give one of `prefix`, `exact`, `regex`"));
  EXPECT_THAT(route_errors("backend: a, path: {}"), ElementsAre(HasSubstr("routes[0].path: expected one key")));
  EXPECT_THAT(route_errors("backend: a, path: [/x]"), ElementsAre(HasSubstr("routes[0].path: expected text")));
  EXPECT_THAT(route_errors("backend: a, path: {exat: /x}"),
              ElementsAre(HasSubstr("routes[0].path.exat: there is no such key; did you mean `exact`?")));
  EXPECT_THAT(
      route_errors("backend: a, path: {regex: \"/a(\"}"),
      ElementsAre(testing::AllOf(HasSubstr("3:37: routes[0].path.regex: not a regular expression: missing ): /a("),
                                 HasSubstr("RE2's syntax"))));
}

TEST(RouteKeys, ReadConditions) {
  const routes::RouteModel route = loaded_route(
      "backend: a, listeners: [web], methods: [GET, POST],"
      "headers: {X-Env: canary, X-User: {regex: \"t[0-9]+\"}, X-Debug: {present: true}, X-N: {exact: 2}},"
      "query: {v: 2, q: {present: true}}");
  ASSERT_TRUE(route.conditions);
  EXPECT_THAT(route.conditions->listeners, ElementsAre("web"));
  EXPECT_THAT(route.conditions->methods, ElementsAre("GET", "POST"));
  ASSERT_EQ(route.conditions->headers.size(), 4u);
  EXPECT_EQ(route.conditions->headers[0].name, "X-Env");
  EXPECT_EQ(route.conditions->headers[0].kind, routes::TextKind::exact);
  EXPECT_EQ(route.conditions->headers[0].text, "canary");
  EXPECT_EQ(route.conditions->headers[1].kind, routes::TextKind::regex);
  EXPECT_EQ(route.conditions->headers[2].kind, routes::TextKind::present);
  EXPECT_EQ(route.conditions->headers[3].text, "2");
  ASSERT_EQ(route.conditions->query.size(), 2u);
  EXPECT_EQ(route.conditions->query[0].text, "2");
  EXPECT_FALSE(loaded_route("backend: a").conditions);
}

TEST(RouteKeys, RefuseConditionsThatAreNone) {
  EXPECT_THAT(route_errors("backend: a, headers: {X-A: {present: false}}"),
              ElementsAre(HasSubstr("routes[0].headers.X-A.present: expected `true`, found \"false\"")));
  EXPECT_THAT(route_errors("backend: a, headers: {X-A: {}}"), ElementsAre(HasSubstr("headers.X-A: expected one key")));
  EXPECT_THAT(route_errors("backend: a, headers: {X-A: [b]}"), ElementsAre(HasSubstr("headers.X-A: expected text")));
  EXPECT_THAT(route_errors("backend: a, query: {q: {regex: \"*\"}}"),
              ElementsAre(HasSubstr("routes[0].query.q.regex: not a regular expression: no argument for repetition")));
  EXPECT_THAT(route_errors("backend: a, methods: GET"), ElementsAre(HasSubstr("routes[0].methods: expected a list")));
  EXPECT_THAT(route_errors("backend: a, methods: [GET, get]"), ElementsAre(HasSubstr("3:38: routes[0].methods[1]: ")));
  EXPECT_THAT(route_errors("backend: a, listeners: [wbe]"), ElementsAre(HasSubstr("there is no listener \"wbe\"")));
}

// An allow list whose lines are all commented out must not open the route.
TEST(RouteKeys, RefuseListsThatAreEmpty) {
  for (const char* key : {"allow", "deny", "methods", "listeners", "headers", "query"}) {
    EXPECT_THAT(route_errors(std::string("backend: a, ") + key + ": "),
                ElementsAre(HasSubstr(std::string("routes[0].") + key + ": the list is empty")));
  }
  EXPECT_THAT(route_errors("backend: a, allow: []"), ElementsAre(HasSubstr("add an element, or leave the key out")));
}

TEST(RouteKeys, ReadWeightedBackends) {
  const routes::RouteModel route = loaded_route(
      "backends: [{name: a, weight: 90}, {name: b, weight: 0, request_headers: {set: {X-V: b}},"
      "response_headers: {remove: [Server]}}]");
  ASSERT_EQ(route.shares.size(), 2u);
  EXPECT_EQ(route.shares[0].weight, 90u);
  EXPECT_EQ(route.shares[1].weight, 0u);
  EXPECT_EQ(route.shares[1].request_headers.set.at(0).value, "b");
  EXPECT_THAT(route.shares[1].response_headers.remove, ElementsAre("Server"));
  EXPECT_THAT(route_errors("backends: [{name: a}, {name: shp}]"),
              ElementsAre("3:40: routes[0].backends[1].name: there is no backend \"shp\"; did you mean `shop`?"));
  EXPECT_THAT(route_errors("backends: [{weight: 1}]"),
              ElementsAre(HasSubstr("routes[0].backends[0]: the key `name` is missing")));
  EXPECT_THAT(route_errors("path: /x"), ElementsAre(HasSubstr("routes[0].backend: a route needs a backend")));
}

TEST(RouteKeys, ReadRedirectAndRewrite) {
  const routes::RouteModel away =
      loaded_route("redirect: {status: 308, scheme: https, host: b.test, port: 8443, prefix: /y}, path: /x");
  const routes::RedirectModel& redirect = *away.policy->redirect;
  EXPECT_EQ(redirect.status, 308u);
  EXPECT_EQ(redirect.scheme, "https");
  EXPECT_EQ(redirect.host, "b.test");
  EXPECT_EQ(redirect.port, 8443u);
  EXPECT_EQ(redirect.change.prefix, "/y");
  const routes::RouteModel other = loaded_route("backend: a, rewrite: {host: c.test, path: /z}");
  EXPECT_EQ(other.policy->rewrite->host, "c.test");
  EXPECT_EQ(other.policy->rewrite->change.path, "/z");
  EXPECT_THAT(route_errors("redirect: {status: 200, scheme: https}"),
              ElementsAre(HasSubstr("3:30: routes[0].redirect.status: 200 is not a redirect status with a Location")));
  EXPECT_THAT(route_errors("redirect: {scheme: gopher}"), ElementsAre(HasSubstr("give http or https")));
}

TEST(RouteKeys, ReadHeaderEdits) {
  const routes::RouteModel route = loaded_route(
      "backend: a, request_headers: {set: {X-A: \"1\", X-B: two words}, add: {X-C: 3}, remove: [X-D]},"
      "response_headers: {remove: [Server]}");
  const routes::HeaderEditsModel& edits = route.policy->request_headers;
  ASSERT_EQ(edits.set.size(), 2u);
  EXPECT_EQ(edits.set[1].value, "two words");
  EXPECT_EQ(edits.add.at(0).value, "3");
  EXPECT_THAT(edits.remove, ElementsAre("X-D"));
  EXPECT_THAT(route.policy->response_headers.remove, ElementsAre("Server"));
  EXPECT_THAT(route_errors("backend: a, request_headers: {set: {Host: b}}"),
              ElementsAre(HasSubstr("3:53: routes[0].request_headers.set.Host: Host belongs to the connection, not to "
                                    "the message; use rewrite: {host: NAME}")));
  EXPECT_THAT(route_errors("backend: a, request_headers: {set: {X-A: \"a\\r\\nb\"}}"),
              ElementsAre(HasSubstr("leave out line ends")));
  EXPECT_THAT(route_errors("backend: a, request_headers: {set: {X-A: [1]}}"),
              ElementsAre(HasSubstr("routes[0].request_headers.set.X-A: expected text, found a list")));
}

TEST(RouteKeys, ReadMirrorsCorsAndHsts) {
  const routes::RouteModel route = loaded_route(
      "backend: a, mirrors: [{backend: b, percent: 10}],"
      "cors: {origins: [\"https://*.test\"], methods: [PUT], headers: [X-A], expose: [X-B], credentials: true,"
      "max_age: 1h}, hsts: {max_age: 8760h, include_subdomains: true, preload: true}");
  EXPECT_EQ(route.policy->mirrors.at(0).percent, 10u);
  EXPECT_THAT(route.policy->cors->origins, ElementsAre("https://*.test"));
  EXPECT_THAT(route.policy->cors->methods, ElementsAre("PUT"));
  EXPECT_THAT(route.policy->cors->headers, ElementsAre("X-A"));
  EXPECT_THAT(route.policy->cors->expose, ElementsAre("X-B"));
  EXPECT_TRUE(route.policy->cors->credentials);
  EXPECT_EQ(route.policy->cors->max_age, std::chrono::hours{1});
  EXPECT_TRUE(route.policy->hsts->preload);
  EXPECT_THAT(route_errors("backend: a, cors: {methods: [PUT]}"),
              ElementsAre(HasSubstr("routes[0].cors: the key `origins` is missing")));
  EXPECT_THAT(route_errors("backend: a, cors: {origins: [\"*\"], credentials: yes}"),
              ElementsAre(HasSubstr("expected `false`, `true`, found \"yes\"")));
  EXPECT_THAT(route_errors("backend: a, mirrors: [{backend: c}]"), ElementsAre(HasSubstr("there is no backend \"c\"")));
}

TEST(RouteKeys, ReadAddressListsAndRefuseTheElementThatIsWrong) {
  const routes::RouteModel route = loaded_route("backend: a, allow: [10.0.0.0/8, \"fd00::/8\"], deny: [10.1.2.3]");
  ASSERT_EQ(route.policy->allow.size(), 2u);
  EXPECT_EQ(route.policy->allow[1].text(), "fd00::/8");
  EXPECT_EQ(route.policy->deny.at(0).text(), "10.1.2.3/32");
  EXPECT_THAT(route_errors("backend: a, allow: [10.0.0.0/8, 10.1.2.3/8]"),
              ElementsAre("3:43: routes[0].allow[1]: expected a network (it has bits behind its mask; the network is "
                          "10.0.0.0/8), found \"10.1.2.3/8\"; write an address or a network in numbers: 10.1.2.3, "
                          "10.0.0.0/8 or fd00::/8"));
  EXPECT_THAT(route_errors("backend: a, deny: [shop.test]"),
              ElementsAre(HasSubstr("routes[0].deny[0]: expected a network (this is not an address in numbers)")));
  EXPECT_THAT(route_errors("backend: a, allow: [\"10.0.0.0/8, 10.1.0.0/16\"]"), ElementsAre(HasSubstr("allow[0]")));
  EXPECT_THAT(route_errors("backend: a, allow: 10.0.0.0/8"), ElementsAre(HasSubstr("expected a list")));
}

TEST(RouteKeys, ReadLimitsAndTimeouts) {
  const routes::RouteModel route = loaded_route(
      "backend: a, rate_limit: {requests: 10, burst: 20}, body_bytes: 1MiB, retries: 0, timeout: 3s,"
      "timeouts: {request: 1m, try: 10s, idle: 5s, tunnel_idle: 1h, tunnel_age: 24h}");
  EXPECT_EQ(route.policy->rate_limit->requests, 10u);
  EXPECT_EQ(route.policy->rate_limit->burst, 20u);
  EXPECT_EQ(route.policy->body_bytes, 1u << 20);
  EXPECT_EQ(route.retries, 0u);
  EXPECT_EQ(route.policy->timeouts.request, std::chrono::minutes{1});
  EXPECT_EQ(route.policy->timeouts.attempt, std::chrono::seconds{10});
  EXPECT_EQ(route.policy->timeouts.idle, std::chrono::seconds{5});
  EXPECT_EQ(route.policy->timeouts.tunnel_idle, std::chrono::hours{1});
  EXPECT_EQ(route.policy->timeouts.tunnel_age, std::chrono::hours{24});
  EXPECT_EQ(loaded_route("backend: a").retries, std::nullopt);
  EXPECT_THAT(route_errors("backend: a, timeout: 0s"), ElementsAre(HasSubstr("expected a duration above zero")));
  EXPECT_THAT(route_errors("backend: a, timeouts: {try: 0s}"), ElementsAre(HasSubstr("routes[0].timeouts.try: ")));
  EXPECT_THAT(route_errors("backend: a, rate_limit: {requests: 0}"), ElementsAre(HasSubstr("give 1 to 1000000")));
  EXPECT_THAT(route_errors("backend: a, rate_limit: {burst: 1}"), ElementsAre(HasSubstr("`requests` is missing")));
}

TEST(RouteKeys, ReadErrorBodiesInlineAndFromFiles) {
  const TemporaryFolder folder;
  write_file(folder / "sorry.html", "<p>sorry</p>");
  const std::string text =
      "errors: [{status: 5xx, file: sorry.html}]\n"
      "routes: [{backend: a, errors: [{status: 503, body: later, type: text/plain}, {status: 4xx, file: "
      "sorry.html}]}]\n";
  const auto loaded = load_it(text, folder / "gate.yaml");
  ASSERT_TRUE(loaded) << text_of(loaded.error());
  const auto& errors_of_route = loaded->model.routes[0].policy->errors;
  EXPECT_EQ(errors_of_route[0].body(), "later");
  EXPECT_EQ(errors_of_route[0].content_type, "text/plain");
  EXPECT_EQ(errors_of_route[1].body(), "<p>sorry</p>");
  EXPECT_EQ(errors_of_route[1].statuses.last, 499);
  EXPECT_EQ(errors_of_route[1].file.content, loaded->model.errors[0].file.content);
  EXPECT_THAT(files_of(loaded->model), ElementsAre(folder / "sorry.html"));
}

TEST(RouteKeys, RefuseErrorBodiesThatCannotBeRead) {
  const TemporaryFolder folder;
  write_file(folder / "large.html", std::string((64 << 10) + 1, 'x'));
  const auto refused = [&](const std::string& keys) {
    const auto loaded = load_it("errors: [{" + keys + "}]\n", folder / "gate.yaml");
    return loaded ? std::string() : text_of(loaded.error());
  };
  EXPECT_THAT(refused("status: 503, file: none.html"), HasSubstr("errors[0].file: expected a file that can be read"));
  EXPECT_THAT(refused("status: 503, file: large.html"), HasSubstr("is larger than 64 KiB"));
  EXPECT_THAT(refused("status: 200, body: x"), HasSubstr("errors[0].status: expected the status of an error"));
  EXPECT_THAT(refused("status: 503"), HasSubstr("give either `body` or `file`"));
}

TEST(RouteKeys, ReadForwardedAndCompression) {
  const routes::RouteModel route = loaded_route(
      "backend: a, forwarded: if_none, compression: {types: [text/*], min_bytes: 2KiB, codings: [zstd, gzip]}");
  EXPECT_EQ(route.policy->forwarded, routes::ForwardedMode::if_none);
  EXPECT_THAT(route.policy->compression->types, ElementsAre("text/*"));
  EXPECT_EQ(route.policy->compression->min_bytes, 2048u);
  EXPECT_THAT(route.policy->compression->codings, ElementsAre(routes::Coding::zstd, routes::Coding::gzip));
  EXPECT_EQ(loaded_route("backend: a, compression: {}").policy->compression->codings.size(), 3u);
  EXPECT_THAT(route_errors("backend: a, compression: {codings: [brotly]}"),
              ElementsAre(HasSubstr("routes[0].compression.codings[0]: expected `gzip`, `brotli`, `zstd`, found "
                                    "\"brotly\"; did you mean `brotli`?")));
  EXPECT_THAT(route_errors("backend: a, forwarded: always"), ElementsAre(HasSubstr("routes[0].forwarded: expected")));
  const auto loaded = load_it("forwarded: replace\ntrusted_proxies: [10.0.0.0/8]\n");
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->model.forwarded, routes::ForwardedMode::replace);
  EXPECT_EQ(loaded->model.trusted_proxies.at(0).text(), "10.0.0.0/8");
  EXPECT_THAT(errors("trusted_proxies: [10.0.0.0/33]\n"), ElementsAre(HasSubstr("3:19: trusted_proxies[0]: ")));
}

}  // namespace
}  // namespace ebb::config
