#include "routes/path_change.h"

#include <gtest/gtest.h>

namespace ebb::routes {
namespace {

std::string with_prefix(std::string prefix, std::string_view matched, std::string_view path) {
  return changed_path({.path = {}, .prefix = std::move(prefix)}, matched, path);
}

TEST(ChangedPath, ReplacesThePrefixAsTheGatewayApiTabulatesIt) {
  struct Row {
    const char* path;
    const char* matched;
    const char* prefix;
    const char* wanted;
  };
  constexpr Row rows[] = {
      {"/foo/bar", "/foo", "/xyz", "/xyz/bar"},
      {"/foo/bar", "/foo", "/xyz/", "/xyz/bar"},
      {"/foo/bar", "/foo/", "/xyz", "/xyz/bar"},
      {"/foo/bar", "/foo/", "/xyz/", "/xyz/bar"},
      {"/foo", "/foo", "/xyz", "/xyz"},
      {"/foo/", "/foo", "/xyz", "/xyz/"},
      {"/foo/bar", "/foo", "", "/bar"},
      {"/foo/", "/foo", "", "/"},
      {"/foo", "/foo", "", "/"},
      {"/foo/", "/foo", "/", "/"},
      {"/foo", "/foo", "/", "/"},
      {"/bar", "", "/xyz", "/xyz/bar"},
      {"/", "/", "/xyz", "/xyz/"},
      {"/foo//bar", "/foo", "/", "/bar"},
      {"/foo///bar", "/foo", "/xyz", "/xyz/bar"},
      {"/foo?q=/foo", "/foo", "/", "/?q=/foo"},
      {"/foo/a?b?c", "/foo", "/xyz", "/xyz/a?b?c"},
      {"*", "", "/xyz", "*"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(with_prefix(row.prefix, row.matched, row.path), row.wanted) << row.path << ' ' << row.prefix;
  }
}

TEST(ChangedPath, ReplacesTheWholePathAndKeepsTheQuery) {
  EXPECT_EQ(changed_path({.path = "/new", .prefix = {}}, "/a", "/a/b?c=d"), "/new?c=d");
  EXPECT_EQ(changed_path({}, "/a", "/a/b?c=d"), "/a/b?c=d");
}

TEST(Location, KeepsWhatTheRedirectDoesNotName) {
  const RequestPlace plain{"http", "shop.test:8080", "/a?b", 8080};
  EXPECT_EQ(location({.host = "new.test"}, "", plain), "http://new.test:8080/a?b");
  EXPECT_EQ(location({.port = 9090}, "", plain), "http://shop.test:9090/a?b");
  EXPECT_EQ(location({.change = {.path = "/x", .prefix = {}}}, "", plain), "http://shop.test:8080/x?b");
  EXPECT_EQ(location({.change = {.path = {}, .prefix = "/x"}}, "/a", plain), "http://shop.test:8080/x?b");
}

TEST(Location, LeavesOutThePortThatTheSchemeImplies) {
  const RequestPlace plain{"http", "shop.test", "/", 8080};
  const RequestPlace usual{"http", "shop.test:80", "/", 80};
  const RequestPlace secure{"https", "shop.test", "/", 443};
  EXPECT_EQ(location({.scheme = "https"}, "", plain), "https://shop.test/");
  EXPECT_EQ(location({.scheme = "https", .port = 8443}, "", plain), "https://shop.test:8443/");
  EXPECT_EQ(location({.scheme = "https", .port = 443}, "", plain), "https://shop.test/");
  EXPECT_EQ(location({.scheme = "http"}, "", secure), "http://shop.test/");
  EXPECT_EQ(location({.host = "b.test"}, "", usual), "http://b.test/");
  EXPECT_EQ(location({.host = "b.test"}, "", secure), "https://b.test/");
  EXPECT_EQ(location({.host = "b.test", .port = 80}, "", secure), "https://b.test:80/");
}

TEST(Location, KnowsIpv6LiteralsAndRequestsWithoutHost) {
  EXPECT_EQ(location({.scheme = "https"}, "", {"http", "[::1]:8080", "/a", 8080}), "https://[::1]/a");
  EXPECT_EQ(location({.port = 81}, "", {"http", "[::1]", "/a", 8080}), "http://[::1]:81/a");
  EXPECT_EQ(location({.scheme = "https"}, "", {"http", "", "/a?b", 8080}), "/a?b");
}

}  // namespace
}  // namespace ebb::routes
