#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "base/rng.h"
#include "tests/routes/model_builder.h"

namespace ebb::routes {
namespace {

std::string matched(const Snapshot& snapshot, std::string_view authority, std::string_view path) {
  const Route* route = snapshot.match({.authority = authority, .path = path});
  return route == nullptr ? "none" : route->model.name;
}

TEST(Match, FindsAnExactHostInAnyCaseWithPortAndTrailingDot) {
  const auto snapshot = compiled({route("Shop.Example.com", "")});
  for (const char* authority :
       {"shop.example.com", "SHOP.example.COM", "shop.example.com:8443", "shop.example.com.", "shop.example.com.:80"}) {
    EXPECT_EQ(matched(*snapshot, authority, "/"), "Shop.Example.com/") << authority;
  }
  for (const char* authority : {"", "example.com", "xshop.example.com", "shop.example.comx", "a.shop.example.com",
                                "shop.example.com..", ".shop.example.com"}) {
    EXPECT_EQ(matched(*snapshot, authority, "/"), "none") << authority;
  }
}

TEST(Match, FindsAnIpv6LiteralInEachOfItsSpellings) {
  const auto snapshot = compiled({route("[2001:DB8::1]", "")});
  for (const char* authority : {"[2001:db8::1]", "[2001:db8::1]:8080", "[2001:0db8:0:0:0:0:0:1]"}) {
    EXPECT_NE(matched(*snapshot, authority, "/"), "none") << authority;
  }
  for (const char* authority : {"[2001:db8::2]", "[2001:db8::1", "2001:db8::1", "[]", "[nonsense]"}) {
    EXPECT_EQ(matched(*snapshot, authority, "/"), "none") << authority;
  }
}

TEST(Match, LetsAWildcardStandForOneOrMoreLabelsButNotForNone) {
  const auto snapshot = compiled({route("*.example.com", "")});
  EXPECT_EQ(matched(*snapshot, "a.example.com", "/"), "*.example.com/");
  EXPECT_EQ(matched(*snapshot, "b.a.Example.com:80", "/"), "*.example.com/");
  EXPECT_EQ(matched(*snapshot, "example.com", "/"), "none");
  EXPECT_EQ(matched(*snapshot, ".example.com", "/"), "none");
  EXPECT_EQ(matched(*snapshot, "aexample.com", "/"), "none");
}

TEST(Match, PrefersExactHostThenLongestWildcardThenAnyHost) {
  const auto snapshot =
      compiled({route("*", ""), route("*.com", ""), route("*.example.com", ""), route("a.example.com", "")});
  EXPECT_EQ(matched(*snapshot, "a.example.com", "/"), "a.example.com/");
  EXPECT_EQ(matched(*snapshot, "b.example.com", "/"), "*.example.com/");
  EXPECT_EQ(matched(*snapshot, "example.com", "/"), "*.com/");
  EXPECT_EQ(matched(*snapshot, "example.org", "/"), "*/");
}

TEST(Match, AsksTheLessSpecificHostWhenNoPathOfTheMoreSpecificOneFits) {
  const auto snapshot = compiled(
      {route("*", "/any"), route("*.example.com", "/wild"), route("a.example.com", "/exact"), route("*", "/exact")});
  EXPECT_EQ(matched(*snapshot, "a.example.com", "/exact"), "a.example.com/exact");
  EXPECT_EQ(matched(*snapshot, "a.example.com", "/wild"), "*.example.com/wild");
  EXPECT_EQ(matched(*snapshot, "a.example.com", "/any"), "*/any");
  EXPECT_EQ(matched(*snapshot, "a.example.com", "/"), "none");
}

TEST(Match, ComparesPathsByWholeSegments) {
  const auto snapshot = compiled({route("", "/api/")});
  for (const char* path : {"/api", "/api/", "/api/x", "/api?x", "/api/?x=/y", "/api//x"}) {
    EXPECT_EQ(matched(*snapshot, "h", path), "*/api/") << path;
  }
  for (const char* path : {"/apix", "/ap", "/", "", "*", "/x/api", "/x?/api", "/API", "//api", "/%61pi"}) {
    EXPECT_EQ(matched(*snapshot, "h", path), "none") << path;
  }
}

TEST(Match, PrefersTheLongestPath) {
  const auto snapshot = compiled({route("", "/"), route("", "/a"), route("", "/a/b/c")});
  EXPECT_EQ(matched(*snapshot, "h", "/a/b/c/d"), "*/a/b/c");
  EXPECT_EQ(matched(*snapshot, "h", "/a/b/c"), "*/a/b/c");
  EXPECT_EQ(matched(*snapshot, "h", "/a/b"), "*/a");
  EXPECT_EQ(matched(*snapshot, "h", "/b"), "*/");
  EXPECT_EQ(matched(*snapshot, "h", "*"), "*/");
}

TEST(Match, TreatsAHostTooLongToBeANameAsUnknown) {
  const auto snapshot = compiled({route("*.example.com", "/"), route("*", "/")});
  EXPECT_EQ(matched(*snapshot, std::string(300, 'a') + ".example.com", "/"), "*/");
}

TEST(Match, TakesTheResponseTimeoutFromTheRouteElseFromTheBackend) {
  RouteModel own = route("a", "");
  own.timeout = std::chrono::seconds{3};
  const auto snapshot = compiled({own, route("b", "")});
  EXPECT_EQ(snapshot->match({.authority = "a", .path = "/"})->response_timeout, std::chrono::seconds{3});
  EXPECT_EQ(snapshot->match({.authority = "b", .path = "/"})->response_timeout, std::chrono::seconds{30});
}

// The rules once more, said as plainly as possible: a walk over all routes.
class NaiveMatch {
 public:
  explicit NaiveMatch(const std::vector<RouteModel>& routes) : routes_(routes) {}

  std::string match(const std::string& host, const std::string& path) const {
    const RouteModel* best = nullptr;
    for (const RouteModel& candidate : routes_) {
      if (!host_fits(candidate.host, host) || !path_fits(candidate.path.text, path)) continue;
      if (best == nullptr || rank(candidate) > rank(*best)) best = &candidate;
    }
    return best == nullptr ? "none" : best->name;
  }

 private:
  static bool host_fits(const std::string& pattern, const std::string& host) {
    if (pattern == "*") return true;
    if (!pattern.starts_with("*.")) return pattern == host;
    return host.ends_with(pattern.substr(1)) && host.size() >= pattern.size();
  }
  static bool path_fits(const std::string& prefix, const std::string& path) {
    if (prefix == "/") return true;
    return path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '/');
  }
  static std::tuple<int, std::size_t, std::size_t> rank(const RouteModel& route) {
    const int kind = route.host == "*" ? 0 : route.host.starts_with("*.") ? 1 : 2;
    return {kind, route.host.size(), route.path.text.size()};
  }

  const std::vector<RouteModel>& routes_;
};

std::string random_host(base::Rng& rng) {
  std::string host(1, static_cast<char>('a' + rng.below(3)));
  for (std::uint64_t labels = rng.below(4); labels > 0; --labels) {
    host += '.';
    host += static_cast<char>('a' + rng.below(3));
  }
  return host;
}

std::string random_path(base::Rng& rng) {
  std::string path;
  for (std::uint64_t segments = rng.below(5); segments > 0; --segments) {
    path += '/';
    path += rng.chance(200) ? "aa" : std::string(1, static_cast<char>('a' + rng.below(3)));
  }
  return path.empty() ? "/" : path;
}

TEST(Match, AgreesWithANaiveWalkOnRandomTables) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    base::Rng rng(seed);
    std::vector<RouteModel> routes;
    for (int i = 0; i < 60; ++i) {
      const std::uint64_t kind = rng.below(6);
      const std::string host = kind == 0 ? "*" : (kind <= 2 ? "*." : "") + random_host(rng);
      RouteModel candidate = route(host, random_path(rng));
      const auto same = [&](const RouteModel& r) {
        return r.host == candidate.host && r.path.text == candidate.path.text;
      };
      if (std::ranges::any_of(routes, same)) continue;
      candidate.name = candidate.host + candidate.path.text;
      routes.push_back(candidate);
    }
    const auto snapshot = compiled(routes);
    const NaiveMatch naive(routes);
    for (int i = 0; i < 200; ++i) {
      const std::string host = random_host(rng);
      const std::string path = random_path(rng);
      ASSERT_EQ(matched(*snapshot, host, path), naive.match(host, path)) << "seed " << seed << ' ' << host << path;
    }
  }
}

TEST(Match, ServesAHundredThousandRoutes) {
  std::vector<RouteModel> routes;
  for (int i = 0; i < 100'000; ++i) {
    const std::string number = std::to_string(i);
    routes.push_back(i % 10 == 0 ? route("*.w" + number + ".test", "/p" + number)
                                 : route("h" + std::to_string(i % 5000) + ".test", "/p" + number));
  }
  const auto snapshot = compiled(routes);
  for (int i = 0; i < 100'000; ++i) {
    const std::string number = std::to_string(i);
    const std::string host = i % 10 == 0 ? "x.y.w" + number + ".test" : "H" + std::to_string(i % 5000) + ".test";
    const std::string path = "/p" + number + "/more?q";
    const Route* found = snapshot->match({.authority = host, .path = path});
    ASSERT_NE(found, nullptr) << i;
    ASSERT_EQ(found, &snapshot->routes()[static_cast<std::size_t>(i)]);
  }
}

}  // namespace
}  // namespace ebb::routes
