// Routes that share a host and differ by path, listener, method, header fields and query.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <tuple>

#include "base/rng.h"
#include "routes/normalise.h"
#include "tests/routes/model_builder.h"

namespace ebb::routes {
namespace {

using Fields = std::vector<FieldCondition>;

struct Rule {
  std::string name;
  std::string host;
  PathModel path;
  ConditionsModel conditions = {};
};

RouteModel made(const Rule& rule) {
  RouteModel model = route(rule.host, rule.path.text);
  model.name = rule.name;
  model.path = rule.path;
  const ConditionsModel& given = rule.conditions;
  const bool any = !given.listeners.empty() || !given.methods.empty() || !given.headers.empty() || !given.query.empty();
  if (any) model.conditions.make() = given;
  return model;
}

std::shared_ptr<const Snapshot> table(const std::vector<Rule>& rules) {
  std::vector<RouteModel> routes;
  for (const Rule& rule : rules) routes.push_back(made(rule));
  return compiled(std::move(routes));
}

PathModel prefix(std::string text) { return {PathKind::prefix, std::move(text)}; }
PathModel exact(std::string text) { return {PathKind::exact, std::move(text)}; }
PathModel regex(std::string text) { return {PathKind::regex, std::move(text)}; }

struct Request {
  std::string method = "GET";
  std::string authority = "a.test";
  std::string path = "/";
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string listener = "http";
};

std::string matched(const Snapshot& snapshot, const Request& request) {
  const ListedHeaders headers(request.headers);
  const Route* found = snapshot.match({request.method, request.authority, request.path, request.listener, &headers});
  return found == nullptr ? "none" : found->model.name;
}

TEST(Precedence, PrefersExactPathThenExpressionThenLongestPrefix) {
  const auto snapshot = table({{"all", "a.test", prefix("/")},
                               {"prefix", "a.test", prefix("/shop")},
                               {"longer", "a.test", prefix("/shop/cart")},
                               {"regex", "a.test", regex("/shop/[a-z]+/[0-9]+")},
                               {"exact", "a.test", exact("/shop/cart/7")}});
  EXPECT_EQ(matched(*snapshot, {.path = "/shop/cart/7?x=1"}), "exact");
  EXPECT_EQ(matched(*snapshot, {.path = "/shop/cart/8"}), "regex");
  EXPECT_EQ(matched(*snapshot, {.path = "/shop/cart/8/x"}), "longer");
  EXPECT_EQ(matched(*snapshot, {.path = "/shop/cart/7/"}), "longer");
  EXPECT_EQ(matched(*snapshot, {.path = "/shop/other"}), "prefix");
  EXPECT_EQ(matched(*snapshot, {.path = "/shopping"}), "all");
}

TEST(Precedence, PutsTheHostBeforeThePath) {
  const auto snapshot = table(
      {{"exact_path", "*.test", exact("/x")}, {"exact_host", "a.test", prefix("/")}, {"any_host", "*", exact("/x")}});
  EXPECT_EQ(matched(*snapshot, {.path = "/x"}), "exact_host");
  EXPECT_EQ(matched(*snapshot, {.authority = "b.test", .path = "/x"}), "exact_path");
  EXPECT_EQ(matched(*snapshot, {.authority = "b.org", .path = "/x"}), "any_host");
}

TEST(Precedence, FitsAnExpressionToTheWholePathAsItWasSent) {
  const auto snapshot = table({{"regex", "", regex("/v[12]/.*")}});
  EXPECT_EQ(matched(*snapshot, {.path = "/v1/a/b?c"}), "regex");
  EXPECT_EQ(matched(*snapshot, {.path = "/v2/"}), "regex");
  for (const char* path : {"/v3/a", "/x/v1/a", "/v1", "/v1?/", "/V1/a", "*"}) {
    EXPECT_EQ(matched(*snapshot, {.path = path}), "none") << path;
  }
}

TEST(Precedence, OfExpressionsIsTheOrderOfTheFileWhenTheConditionsAreAlike) {
  const auto snapshot = table({{"first", "", regex("/a.*")},
                               {"second", "", regex("/ab.*")},
                               {"post", "", regex("/.*"), {.methods = {"POST"}}}});
  EXPECT_EQ(matched(*snapshot, {.path = "/abc"}), "first");
  EXPECT_EQ(matched(*snapshot, {.method = "POST", .path = "/abc"}), "post");
}

TEST(Precedence, PutsListenerThenMethodThenHeadersThenQueryThenOrder) {
  const Fields one_header = {{"X-A", TextKind::exact, "1"}};
  const Fields two_headers = {{"X-A", TextKind::exact, "1"}, {"X-B", TextKind::present, ""}};
  const Fields one_query = {{"q", TextKind::exact, "1"}};
  const Fields two_queries = {{"q", TextKind::exact, "1"}, {"r", TextKind::present, ""}};
  const auto snapshot = table({{"plain", "", prefix("/")},
                               {"q", "", prefix("/"), {.query = one_query}},
                               {"qr", "", prefix("/"), {.query = two_queries}},
                               {"a", "", prefix("/"), {.headers = one_header}},
                               {"ab", "", prefix("/"), {.headers = two_headers}},
                               {"put", "", prefix("/"), {.methods = {"PUT", "POST"}}},
                               {"listener", "", prefix("/"), {.listeners = {"http"}, .query = two_queries}}});
  const Request all{.method = "PUT", .path = "/?q=1&r", .headers = {{"x-a", "1"}, {"x-b", ""}}};
  const auto with = [&all](auto change) {
    Request request = all;
    change(request);
    return request;
  };
  EXPECT_EQ(matched(*snapshot, all), "listener");
  EXPECT_EQ(matched(*snapshot, with([](Request& r) { r.listener = "other"; })), "put");
  EXPECT_EQ(matched(*snapshot, {.path = "/?q=1", .headers = all.headers}), "ab");
  EXPECT_EQ(matched(*snapshot, {.path = "/?q=1", .headers = {{"x-a", "1"}}}), "a");
  EXPECT_EQ(matched(*snapshot, {.path = "/?q=1&r=", .listener = "other"}), "qr");
  EXPECT_EQ(matched(*snapshot, {.path = "/?q=1"}), "q");
  EXPECT_EQ(matched(*snapshot, {.path = "/?q=2"}), "plain");
}

TEST(Precedence, GoesOnWithTheShorterPathWhenNoConditionHolds) {
  const auto snapshot = table({{"exact", "a.test", exact("/x/y"), {.methods = {"POST"}}},
                               {"longer", "a.test", prefix("/x"), {.methods = {"PUT"}}},
                               {"shorter", "a.test", prefix("/"), {.methods = {"GET", "PATCH"}}},
                               {"any_host", "*", prefix("/")}});
  EXPECT_EQ(matched(*snapshot, {.method = "POST", .path = "/x/y"}), "exact");
  EXPECT_EQ(matched(*snapshot, {.method = "PUT", .path = "/x/y"}), "longer");
  EXPECT_EQ(matched(*snapshot, {.method = "GET", .path = "/x/y"}), "shorter");
  EXPECT_EQ(matched(*snapshot, {.method = "DELETE", .path = "/x/y"}), "any_host");
}

TEST(Conditions, OnHeadersLookAtEachLineAndIgnoreTheCaseOfTheName) {
  const auto snapshot = table({{"canary", "", prefix("/"), {.headers = {{"X-Env", TextKind::exact, "canary"}}}},
                               {"tester", "", prefix("/t"), {.headers = {{"X-User", TextKind::regex, "t[0-9]+"}}}}});
  EXPECT_EQ(matched(*snapshot, {.headers = {{"x-env", "canary"}}}), "canary");
  EXPECT_EQ(matched(*snapshot, {.headers = {{"x-env", "blue"}, {"x-env", "canary"}}}), "canary");
  EXPECT_EQ(matched(*snapshot, {.headers = {{"x-env", "Canary"}}}), "none");
  EXPECT_EQ(matched(*snapshot, {.path = "/t", .headers = {{"x-user", "t12"}}}), "tester");
  EXPECT_EQ(matched(*snapshot, {.path = "/t", .headers = {{"x-user", "xt12"}}}), "none");
}

TEST(Conditions, OnTheQueryLookAtTheFirstParameterOfTheNameAsItWasSent) {
  const auto snapshot = table({{"found", "", prefix("/"), {.query = {{"v", TextKind::exact, "2"}}}}});
  for (const char* path : {"/?v=2", "/?a&v=2", "/?v=2&v=3", "/?a=v=1&v=2", "/?&&v=2"}) {
    EXPECT_EQ(matched(*snapshot, {.path = path}), "found") << path;
  }
  for (const char* path : {"/", "/?", "/?v", "/?v=", "/?v=3&v=2", "/?V=2", "/?vv=2", "/?v=%32", "/v=2", "/#?v=2"}) {
    EXPECT_EQ(matched(*snapshot, {.path = path}), "none") << path;
  }
}

TEST(Conditions, HoldNothingWhenTheFactsLackHeaders) {
  const auto snapshot = table({{"present", "", prefix("/"), {.headers = {{"X-A", TextKind::present, ""}}}}});
  EXPECT_EQ(snapshot->match({.method = "GET", .authority = "a", .path = "/"}), nullptr);
}

RouteModel passed_through(const std::string& host) {
  RouteModel opaque = route(host, "");
  opaque.tls = TlsMode::passthrough;
  return opaque;
}

// The host whose passthrough route takes the name, or "ends here".
std::string passed(const Snapshot& snapshot, std::string_view name, std::string_view listener) {
  const Route* found = snapshot.match_server_name(name, listener);
  return found == nullptr ? "ends here" : found->model.name;
}

TEST(Passthrough, RoutesAreFoundByServerNameAndNotByRequests) {
  const auto snapshot = compiled({passed_through("*.test"), passed_through("*"), route("b.test", "")});
  for (const char* listener : {"", "secure"}) {
    EXPECT_EQ(passed(*snapshot, "A.test", listener), "*.test");
    EXPECT_EQ(passed(*snapshot, "b.a.test", listener), "*.test");
    EXPECT_EQ(passed(*snapshot, "test", listener), "*");
    EXPECT_EQ(passed(*snapshot, "", listener), "*");
  }
  EXPECT_EQ(snapshot->match({.authority = "a.test", .path = "/"}), nullptr);
  EXPECT_NE(snapshot->match({.authority = "b.test", .path = "/"}), nullptr);
  EXPECT_EQ(passed(*compiled({route("b.test", "")}), "b.test", ""), "ends here");
}

TEST(Passthrough, LeavesANameToTheMoreSpecificHostWhoseTlsEnds) {
  const auto snapshot = compiled({passed_through("*.test"), passed_through("exact.inner.test"),
                                  passed_through("both.test"), route("shop.test", ""), route("*.inner.test", ""),
                                  route("both.test", ""), route("", ""), route("path.test", "/only/here")});
  for (const auto& [name, winner] : {std::pair{"shop.test", "ends here"},
                                     {"SHOP.test.", "ends here"},
                                     {"path.test", "ends here"},
                                     {"other.test", "*.test"},
                                     {"a.shop.test", "*.test"},
                                     {"a.inner.test", "ends here"},
                                     {"b.a.inner.test", "ends here"},
                                     {"exact.inner.test", "exact.inner.test"},
                                     {"inner.test", "*.test"},
                                     {"both.test", "both.test"},
                                     {"unknown", "ends here"},
                                     {"", "ends here"}}) {
    EXPECT_EQ(passed(*snapshot, name, "secure"), winner) << name;
  }
  EXPECT_EQ(passed(*snapshot, "shop.test", ""), "*.test") << "a listener without certificates";
}

TEST(Passthrough, DoesNotYieldToARouteOfAnotherListener) {
  RouteModel limited = route("shop.test", "");
  limited.conditions.make().listeners = {"plain", "secure"};
  RouteModel plain = route("cart.test", "");
  plain.conditions.make().listeners = {"plain"};
  Model model = small_model();
  model.listeners = {listener("plain", "127.0.0.1:1"), listener("secure", "127.0.0.1:2"),
                     listener("other", "127.0.0.1:3")};
  model.routes = {passed_through("*.test"), limited, plain};
  const auto snapshot = compiled(std::move(model));
  EXPECT_EQ(passed(*snapshot, "shop.test", "secure"), "ends here");
  EXPECT_EQ(passed(*snapshot, "shop.test", "other"), "*.test");
  EXPECT_EQ(passed(*snapshot, "cart.test", "secure"), "*.test");
}

// The rules once more, said as plainly as possible: a walk over all routes.
class NaiveWalk {
 public:
  explicit NaiveWalk(const std::vector<Rule>& rules) : rules_(rules) {}

  std::string match(const Request& request) const {
    const Rule* best = nullptr;
    for (const Rule& rule : rules_) {
      if (!host_fits(rule.host, request.authority) || !path_fits(rule.path, request.path)) continue;
      if (!conditions_hold(rule.conditions, request)) continue;
      if (best == nullptr || rank(rule) > rank(*best)) best = &rule;
    }
    return best == nullptr ? "none" : best->name;
  }

 private:
  static bool host_fits(const std::string& pattern, const std::string& host) {
    if (pattern == "*") return true;
    if (!pattern.starts_with("*.")) return pattern == host;
    return host.ends_with(pattern.substr(1)) && host.size() >= pattern.size();
  }

  static bool path_fits(const PathModel& rule, const std::string& target) {
    const std::string path = target.substr(0, target.find('?'));
    if (rule.kind == PathKind::exact) return path == rule.text;
    if (rule.kind == PathKind::regex) return std::regex_match(path, std::regex(rule.text));
    if (rule.text == "/") return true;
    return path.starts_with(rule.text) && (path.size() == rule.text.size() || path[rule.text.size()] == '/');
  }

  static bool value_fits(const FieldCondition& condition, const std::string& value) {
    if (condition.kind == TextKind::present) return true;
    if (condition.kind == TextKind::exact) return value == condition.text;
    return std::regex_match(value, std::regex(condition.text));
  }

  static bool conditions_hold(const ConditionsModel& conditions, const Request& request) {
    if (!conditions.methods.empty() &&
        std::ranges::find(conditions.methods, request.method) == conditions.methods.end())
      return false;
    for (const FieldCondition& condition : conditions.headers) {
      const auto fits = [&](const auto& field) {
        return field.first == lower_case(condition.name) && value_fits(condition, field.second);
      };
      if (std::ranges::none_of(request.headers, fits)) return false;
    }
    for (const FieldCondition& condition : conditions.query) {
      // The parameters of these tests are single letters that occur once.
      const std::size_t at = request.path.find(condition.name + "=");
      if (at == std::string::npos || at < request.path.find('?')) return false;
      if (!value_fits(condition, request.path.substr(at + 2, 1))) return false;
    }
    return true;
  }

  using Rank = std::tuple<int, std::size_t, int, std::size_t, bool, std::size_t, std::size_t, std::ptrdiff_t>;
  Rank rank(const Rule& rule) const {
    const int host = rule.host == "*" ? 0 : rule.host.starts_with("*.") ? 1 : 2;
    const int path = rule.path.kind == PathKind::exact ? 2 : rule.path.kind == PathKind::regex ? 1 : 0;
    const std::size_t length = rule.path.kind == PathKind::prefix ? rule.path.text.size() : 0;
    const ConditionsModel& conditions = rule.conditions;
    return Rank(host, rule.host.size(), path, length, !conditions.methods.empty(), conditions.headers.size(),
                conditions.query.size(), -(&rule - rules_.data()));
  }

  const std::vector<Rule>& rules_;
};

std::string letter(base::Rng& rng, char first, std::uint64_t count) {
  return std::string(1, static_cast<char>(first + static_cast<char>(rng.below(count))));
}

std::string random_path(base::Rng& rng) {
  std::string path;
  for (std::uint64_t segments = rng.below(4); segments > 0; --segments) path += "/" + letter(rng, 'a', 2);
  return path.empty() ? "/" : path;
}

FieldCondition random_condition(base::Rng& rng, std::string name) {
  switch (rng.below(3)) {
    case 0: return {std::move(name), TextKind::present, ""};
    case 1: return {std::move(name), TextKind::regex, "[" + letter(rng, '1', 2) + "3]"};
    default: return {std::move(name), TextKind::exact, letter(rng, '1', 3)};
  }
}

Rule random_rule(base::Rng& rng) {
  constexpr const char* hosts[] = {"*", "*.test", "*.b.test", "a.test", "a.b.test"};
  Rule rule{.name = "", .host = hosts[rng.below(5)], .path = prefix(random_path(rng))};
  if (rng.chance(250)) rule.path.kind = PathKind::exact;
  if (rng.chance(250)) rule.path = regex("/" + letter(rng, 'a', 2) + "(/.*)?");
  if (rng.chance(300)) rule.conditions.methods = {rng.chance(500) ? "GET" : "POST"};
  if (rng.chance(300)) rule.conditions.headers.push_back(random_condition(rng, "X-A"));
  if (rng.chance(300)) rule.conditions.headers.push_back(random_condition(rng, "x-b"));
  if (rng.chance(300)) rule.conditions.query.push_back(random_condition(rng, "q"));
  return rule;
}

Request random_request(base::Rng& rng) {
  constexpr const char* hosts[] = {"a.test", "b.test", "a.b.test", "c.b.test", "other"};
  Request request{.method = rng.chance(500) ? "GET" : "POST", .authority = hosts[rng.below(5)]};
  request.path = random_path(rng);
  if (rng.chance(500)) request.path += "?z&q=" + letter(rng, '1', 4);
  if (rng.chance(500)) request.headers.emplace_back("x-a", letter(rng, '1', 4));
  if (rng.chance(500)) request.headers.emplace_back("x-b", letter(rng, '1', 4));
  if (rng.chance(200)) request.headers.emplace_back("x-a", letter(rng, '1', 4));
  return request;
}

// Equal for two rules that match the same requests, which a model may not have.
std::string signature(const Rule& rule) {
  std::string text = rule.host + ' ' + std::to_string(static_cast<int>(rule.path.kind)) + rule.path.text;
  for (const std::string& method : rule.conditions.methods) text += ' ' + method;
  for (const Fields* fields : {&rule.conditions.headers, &rule.conditions.query}) {
    for (const FieldCondition& field : *fields) {
      text += ' ' + field.name + std::to_string(static_cast<int>(field.kind)) + field.text;
    }
  }
  return text;
}

TEST(Precedence, AgreesWithANaiveWalkOnRandomTables) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    base::Rng rng(seed);
    std::vector<Rule> rules;
    std::set<std::string> signatures;
    for (int i = 0; i < 80; ++i) {
      Rule rule = random_rule(rng);
      rule.name = "r" + std::to_string(i);
      if (signatures.insert(signature(rule)).second) rules.push_back(std::move(rule));
    }
    const auto snapshot = table(rules);
    const NaiveWalk naive(rules);
    for (int i = 0; i < 200; ++i) {
      const Request request = random_request(rng);
      ASSERT_EQ(matched(*snapshot, request), naive.match(request))
          << "seed " << seed << ' ' << request.method << ' ' << request.authority << request.path;
    }
  }
}

}  // namespace
}  // namespace ebb::routes
