#include "routes/path_choice.h"

#include <gtest/gtest.h>

#include "tests/routes/model_builder.h"

namespace ebb::routes {
namespace {

RouteModel guarded(std::string path) {
  RouteModel model = route("", std::move(path));
  model.policy.make().allow.push_back(*Cidr::parse("10.0.0.0/8"));
  return model;
}

RouteModel with_paths(RouteModel model, PathMode mode) {
  model.paths = mode;
  return model;
}

RouteModel rewritten(std::string path, std::string prefix) {
  RouteModel model = route("", std::move(path));
  model.policy.make().rewrite.emplace().change.prefix = std::move(prefix);
  return model;
}

class PathChoices : public testing::Test {
 protected:
  void set(std::vector<RouteModel> routes) {
    Model model;
    model.listeners = {listener("web", "127.0.0.1:80")};
    model.backends = {backend("web")};
    model.routes = std::move(routes);
    snapshot_ = compiled(std::move(model));
  }
  // "/prefix -> what the endpoint gets", "404" or "refused".
  std::string chosen(std::string_view path, std::optional<PathMode> mode = {}) {
    std::string text;
    const PathChoice choice =
        choose_path(*snapshot_, {.method = "GET", .authority = "a.test", .path = path}, mode, text);
    if (choice.ambiguous) return "refused";
    if (choice.route == nullptr) return "404";
    return choice.route->model.path.text + " -> " + std::string(choice.path);
  }

 private:
  std::shared_ptr<const Snapshot> snapshot_;
};

constexpr const char* ways_around[] = {
    "//admin",           "/x/..//admin%2F",
    "/admin%2Fx",        "/admin%2fx",
    "/;/admin",          "/admin;x",
    "/admin;x/y",        "/x/..;/admin",
    "/x/%2e%2e;a/admin", "/x/..%2Fadmin",
    "/x%2F..%2Fadmin",   "/x/..%5Cadmin",
    "/..%252Fadmin",     "/%252e%252e/admin/..%252Fadmin",
    "/x/..\\admin",      "\\admin",
    "/\\admin",          "/admin%00",
    "/admin%3Fx",        "/admin%3Bx",
    "/%2Fadmin",         "/.;/admin",
    "/x;/..;/admin",     "///admin//x",
    "/admin%5Cx",        "/x/..%2F;/admin",
};

// Dot segments are removed before something else is decoded, merged or left out, or stay while it is.
constexpr const char* ways_around_by_order[] = {
    "/x%2Fy/../admin%2Fz",     "/x%5Cy/../admin%5Cz",       "/x%2Fy/../admin%3Fz",   "/x%252fy/../admin%252fz",
    "/x%2Fy/%2e%2e/admin%2Fz", "/x%2Fy/../admin;z",         "/x%2Fy/..%3B/admin",    "/x%2Fy/..%253B/admin",
    "/x%2Fy/..%5Cadmin",       "/x;/y/../../admin;z",       "/x%2F;y/..;/admin%3Bz", "/admin%2f..",
    "/admin%252f..",           "/x%2F%2e%2e/../admin%2F..", "/x%3Fy/../admin%00z",   "/x%2Fy/../%2561dmin",
    "/x%2Fy/../%61dmin%23%2F",
};

TEST_F(PathChoices, NoSpellingLeadsAroundARouteThatGuards) {
  set({route("", "/"), guarded("/admin")});
  for (const auto mode : {std::optional<PathMode>(), std::optional(PathMode::normalise)}) {
    for (const char* path : {"/admin", "/x/../admin", "/./admin", "/%61dmin", "/%61%64min", "/x/%2e%2e/admin",
                             "/x/.%2E/admin", "/admin/./../admin", "/../admin"}) {
      const std::string choice = chosen(path, mode);
      EXPECT_TRUE(choice == "/admin -> /admin" || choice == "/admin -> " + std::string(path)) << choice;
    }
    for (const char* path : ways_around) EXPECT_EQ(chosen(path, mode), "refused") << path;
    for (const char* path : ways_around_by_order) EXPECT_EQ(chosen(path, mode), "refused") << path;
    EXPECT_EQ(chosen("/a//b/../../../admin//z", mode), "/admin -> /admin//z");
  }
  // In normal form there is nothing left to read otherwise. As sent, some decode or shorten it and keep its "..".
  for (const char* path : {"/%61dmin/../x", "/admin;/../x", "/x//y/..%2F../..//admin"}) {
    EXPECT_EQ(chosen(path), "refused") << path;
    EXPECT_TRUE(chosen(path, PathMode::normalise).starts_with("/ -> /x")) << path;
  }
  EXPECT_EQ(chosen("/x/../admin"), "/admin -> /admin");
  EXPECT_EQ(chosen("/admin/../x"), "/admin -> /admin/../x");  // its rules hold, whatever it is to others
}

TEST_F(PathChoices, OrdinaryPathsBesideAGuardGoOnUnchanged) {
  set({route("", "/"), guarded("/admin")});
  for (const char* path : {"/projects/group%2Fname", "/fetch/https://a.test/b", "/shop;jsessionid=1?x=/../admin",
                           "/caf%c3%a9/a%20b", "/a/./b/../c", "/go/https%253A%252F%252Fa.test%252Fadmin%253Fx%253Dy",
                           "/a%2Fadmin", "/administrator%2F..", "/a%20b%2Fc;v=1/d//e", "/100%", "/x/..%2Fy"}) {
    EXPECT_EQ(chosen(path), "/ -> " + std::string(path));
  }
  const std::string long_name = "/files/" + std::string(100, 'n') + "%20a%2Fb;v=1//c/../d";
  EXPECT_EQ(chosen(long_name), "/ -> " + long_name);
  std::string encoded = "/search/";
  for (int i = 0; i < 900; ++i) encoded += "%E4%B8%AD";
  EXPECT_EQ(chosen(encoded), "/ -> " + encoded);
}

// Each has dozens of readings or more, and each of these would be matched.
constexpr const char* many_readings[] = {"/a%20b%2Fc;v=1/d//e/../f%3Fg%5Ch", "/a;b%2Fc//d%5Ce/./f%253Bg/..%252Fq",
                                         "/%5c../%7e//../;a%25"};

TEST_F(PathChoices, ThatCanBeReadInTooManyWaysAreRefusedBesideAGuard) {
  set({route("", "/"), guarded("/admin")});
  for (const char* path : many_readings) EXPECT_EQ(chosen(path), "refused") << path;
}

TEST_F(PathChoices, AreNotReadInOtherWaysWhereNoneOfThemMatters) {
  RouteModel elsewhere = guarded("/admin");
  elsewhere.host = "b.test";
  RouteModel by_method = route("a.test", "/");
  by_method.conditions.make().methods = {"GET"};
  for (const auto& routes :
       {std::vector{route("", "/")}, std::vector{route("", ""), route("", "/api")},
        std::vector{guarded("/"), route("", "/open")}, std::vector{route("*.test", "/"), guarded("/admin")},
        std::vector{route("", "/"), elsewhere}, std::vector{route("", "/"), by_method}}) {
    set(routes);
    for (const char* path : many_readings) EXPECT_NE(chosen(path), "refused") << path;
  }
}

// One of the readings could lead to the guard, or to where nothing is served.
TEST_F(PathChoices, AreReadInOtherWaysWhereverOneOfThemMayMatter) {
  const auto of_host = [](std::string host, RouteModel model) {
    model.host = std::move(host);
    return model;
  };
  RouteModel by_method = route("a.test", "/");
  by_method.conditions.make().methods = {"GET"};
  RouteModel exact = route("", "/");
  exact.path.kind = PathKind::exact;
  for (const auto& routes :
       {std::vector{route("a.test", "/"), of_host("a.test", guarded("/admin"))}, std::vector{by_method},
        std::vector{by_method, guarded("/admin"), route("", "/")}, std::vector{guarded("/"), guarded("/admin")},
        std::vector{route("*.test", "/a"), guarded("/admin"), route("", "/")},
        std::vector{route("", "/a"), route("", "/%5C.."), route("", "/%5c.."), exact}}) {
    set(routes);
    for (const char* path : {many_readings[0], many_readings[1]}) {
      const std::string choice = chosen(path);
      EXPECT_TRUE(choice == "refused" || choice == "404") << choice << " of " << path;
    }
  }
}

TEST_F(PathChoices, NothingIsTouchedWhereNothingIsGuarded) {
  set({route("", "/"), route("", "/admin")});
  for (const char* path :
       {"/projects/group%2fname", "/fetch/https://a.test/b", "/shop;jsessionid=1?x=/../", "/admin%2Fx", "//admin",
        "/a//b/../c%2F%zz?x=y&z=?", "/%61dmin", "/100%", "/a\\b", "/a%00b"}) {
    EXPECT_EQ(chosen(path), "/ -> " + std::string(path));
  }
}

TEST_F(PathChoices, GetTheirNormalFormWhereSoAsked) {
  set({route("", "/"), route("", "/admin")});
  EXPECT_EQ(chosen("/projects/group%2fname", PathMode::normalise), "/ -> /projects/group%2Fname");
  EXPECT_EQ(chosen("/fetch/https://a.test/b", PathMode::normalise), "/ -> /fetch/https://a.test/b");
  EXPECT_EQ(chosen("/%61dmin/./x;y", PathMode::normalise), "/admin -> /admin/x;y");
  EXPECT_EQ(chosen("/admin%2Fx", PathMode::normalise), "/ -> /admin%2Fx");
  for (const char* path : {"/100%", "/a\\b", "/a%00b"}) EXPECT_EQ(chosen(path, PathMode::normalise), "refused") << path;
}

TEST_F(PathChoices, WhatIsNotServedIsGuardedToo) {
  set({route("", "/public")});
  EXPECT_EQ(chosen("/public/../secret"), "404");
  EXPECT_EQ(chosen("/public/a%2Fb"), "/public -> /public/a%2Fb");
  EXPECT_EQ(chosen("/public//a;x=1"), "/public -> /public//a;x=1");
  for (const char* path :
       {"/public/..%2Fsecret", "/public/..;/secret", "/public/..%5csecret", "/public/..%252fsecret"}) {
    EXPECT_EQ(chosen(path), "refused") << path;
  }
}

TEST_F(PathChoices, OfTheGuardedRouteItselfAreServed) {
  set({guarded("/"), route("", "/open")});
  EXPECT_EQ(chosen("/a%2Fb;c//d"), "/ -> /a%2Fb;c//d");
  EXPECT_EQ(chosen("/open/..%2Fsecret"), "refused");
  EXPECT_EQ(chosen("/open%2F..%2Fsecret"), "/ -> /open%2F..%2Fsecret");
}

TEST_F(PathChoices, AreRefusedUnlessStrictWhereSoAsked) {
  set({route("", "/"), with_paths(route("", "/files"), PathMode::as_is)});
  EXPECT_EQ(chosen("/a%20b/caf%c3%a9", PathMode::refuse), "/ -> /a%20b/caf%C3%A9");
  for (const char* path : {"/a/../b", "/%61", "//a", "/a;b", "/a%2Fb", "/a\\b", "/a%"}) {
    EXPECT_EQ(chosen(path, PathMode::refuse), "refused") << path;
  }
  EXPECT_EQ(chosen("/files/a%2fb//../c", PathMode::refuse), "/files -> /files/a%2fb//../c");
}

TEST_F(PathChoices, AreAsSentWhereSoAsked) {
  set({route("", "/"), guarded("/admin")});
  EXPECT_EQ(chosen("/x/../admin", PathMode::as_is), "/ -> /x/../admin");
  EXPECT_EQ(chosen("/%61dmin", PathMode::as_is), "/ -> /%61dmin");
  EXPECT_EQ(chosen("/100%", PathMode::as_is), "/ -> /100%");
}

TEST_F(PathChoices, OfARouteWithItsOwnModeAreItsOwn) {
  set({route("", "/"), with_paths(route("", "/files"), PathMode::as_is),
       with_paths(route("", "/strict"), PathMode::refuse)});
  EXPECT_EQ(chosen("/files//a/./b%2f;c"), "/files -> /files//a/./b%2f;c");
  EXPECT_EQ(chosen("/files/100%"), "/files -> /files/100%");
  EXPECT_EQ(chosen("/files/100%", PathMode::normalise), "/files -> /files/100%");
  EXPECT_EQ(chosen("/x/../files/a"), "refused");  // by its bytes it is another route's
  EXPECT_EQ(chosen("/files/../strict"), "refused");
  EXPECT_EQ(chosen("/strict/a;b"), "refused");
  EXPECT_EQ(chosen("/strict/a"), "/strict -> /strict/a");
  // On a listener that takes paths as they are the route still has its own mode, and cannot be walked around.
  EXPECT_EQ(chosen("/x/../strict", PathMode::as_is), "refused");
  EXPECT_EQ(chosen("/strict/../x", PathMode::as_is), "refused");
}

// The bytes are those of a route with a mode of its own, the normal form is another's: the stricter mode counts.
TEST_F(PathChoices, ThatLeaveARouteWithItsOwnModeAreDecidedByThatMode) {
  set({route("", "/"), with_paths(route("", "/strict"), PathMode::refuse),
       with_paths(route("", "/norm"), PathMode::normalise), with_paths(route("", "/files"), PathMode::as_is)});
  for (const char* path : {"/strict/../x", "/strict/%2e%2e/x", "/strict/a/../../x?q", "/strict/../norm/x"}) {
    EXPECT_EQ(chosen(path), "refused") << path;
    EXPECT_EQ(chosen(path, PathMode::as_is), "refused") << path;
    EXPECT_EQ(chosen(path, PathMode::normalise), "refused") << path;
  }
  EXPECT_EQ(chosen("/norm/../x?q"), "/ -> /x?q");
  EXPECT_EQ(chosen("/norm/%2e%2e/x"), "/ -> /x");
  EXPECT_EQ(chosen("/norm/../x", PathMode::as_is), "/ -> /x");
  EXPECT_EQ(chosen("/norm/../x", PathMode::normalise), "/ -> /x");
  EXPECT_EQ(chosen("/norm/../x", PathMode::refuse), "refused");  // it is a path of the listener, which takes none such
  EXPECT_EQ(chosen("/norm/../strict"), "refused");
  EXPECT_EQ(chosen("/norm/../files/x"), "refused");
  EXPECT_EQ(chosen("/files/../x"), "/files -> /files/../x");
}

TEST_F(PathChoices, OfARouteThatIsConfiguredWithAnEncodedSlashAreServed) {
  RouteModel exact = route("", "/a%2Fb");
  exact.path.kind = PathKind::exact;
  set({exact});
  EXPECT_EQ(chosen("/a%2fb", PathMode::normalise), "/a%2Fb -> /a%2Fb");
  EXPECT_EQ(chosen("/a%2Fb"), "/a%2Fb -> /a%2Fb");
}

// As "/v1/..%2Fsecret" an endpoint would read "/secret", which the rewrite keeps from its clients.
TEST_F(PathChoices, NoSpellingLeadsOutOfTheRewriteOfARoute) {
  set({route("", "/"), rewritten("/api", "/v1")});
  for (const auto mode : {std::optional<PathMode>(), std::optional(PathMode::normalise)}) {
    EXPECT_EQ(chosen("/api/../secret?q", mode), "/ -> /secret?q");
    EXPECT_EQ(chosen("/api/%2e%2e/secret", mode), "/ -> /secret");
    EXPECT_EQ(chosen("/api/x/../../secret", mode), "/ -> /secret");
    EXPECT_EQ(chosen("/api/../api/x", mode), "/api -> /api/x");
    EXPECT_EQ(chosen("/api//..", mode), "/api -> /api/");
    for (const char* path :
         {"/api/..%2Fsecret", "/api/..%5Csecret", "/api/..;/secret", "/api/..%252Fsecret", "/api/..\\secret",
          "/api//../../secret", "/api/x;/..%2F../secret", "/api/..%2Fapi/x", "/api/..%3Fx", "/api/..%00"}) {
      const std::string choice = chosen(path, mode);
      EXPECT_TRUE(choice == "refused" || choice.starts_with("/ -> ")) << path << ": " << choice;
    }
    EXPECT_EQ(chosen("/api/..%2Fsecret", mode), "refused");
    EXPECT_EQ(chosen("/api/..%2Fapi/x", mode), "refused");
    EXPECT_EQ(chosen("/api/a%2Fb;c//d", mode), "/api -> /api/a%2Fb;c//d");
  }
  EXPECT_EQ(chosen("/api/x/../y"), "/api -> /api/x/../y");  // it stays inside
  EXPECT_EQ(chosen("/api/100%"), "/api -> /api/100%");
  EXPECT_EQ(chosen("/api/..%252Fsecret", PathMode::refuse), "refused");
  EXPECT_EQ(chosen("/api/../secret", PathMode::as_is), "/api -> /api/../secret");
}

TEST_F(PathChoices, NoSpellingLeadsOutOfTheRewriteOfTheOnlyRoute) {
  set({rewritten("/", "/v1")});
  EXPECT_EQ(chosen("/../secret"), "/ -> /secret");
  EXPECT_EQ(chosen("/x/../y"), "/ -> /x/../y");
  EXPECT_EQ(chosen("/..%2Fsecret"), "refused");
}

// The endpoint gets "/..%2Fadmin" and may read "/admin": what "/api/admin" guards.
TEST_F(PathChoices, NoSpellingLeadsAroundAGuardBehindARewrite) {
  RouteModel admin = rewritten("/api/admin", "/admin");
  admin.policy.make().allow.push_back(*Cidr::parse("10.0.0.0/8"));
  set({route("", "/"), rewritten("/api", "/"), admin});
  EXPECT_EQ(chosen("/api/../admin"), "/ -> /admin");
  EXPECT_EQ(chosen("/api/..%2Fadmin"), "refused");
}

TEST(RouteSpelling, OfAConfiguredPathMustBeTheOneThatIsMatched) {
  const auto refusal = [](const RouteModel& asked, std::optional<PathMode> mode) {
    Model model;
    model.listeners = {listener("web", "127.0.0.1:80")};
    model.listeners[0].paths = mode;
    model.backends = {backend("web")};
    model.routes = {asked};
    base::Labels labels;
    std::shared_ptr<const Snapshot> snapshot;
    const auto refusals = Snapshot::compile(std::move(model), 1, labels, snapshot);
    return refusals.empty() ? "" : refusals[0].key + ": " + refusals[0].remedy;
  };
  EXPECT_EQ(refusal(route("", "/%61dmin"), PathMode::normalise), "routes[0].path: write /admin");
  EXPECT_EQ(refusal(guarded("/%61dmin"), {}), "routes[0].path: write /admin");
  EXPECT_EQ(refusal(route("", "/a/../b"), PathMode::refuse), "routes[0].path: write /b");
  EXPECT_EQ(refusal(route("", "/%61dmin"), {}), "");
  EXPECT_EQ(refusal(guarded("/%61dmin"), PathMode::as_is), "");
  EXPECT_EQ(refusal(guarded("/caf%C3%A9/a%2Fb"), PathMode::normalise), "");

  const auto expression = [](const char* text) {
    RouteModel route = guarded("/");
    route.path = {PathKind::regex, text};
    return route;
  };
  EXPECT_EQ(refusal(expression("/d/%e2%82%ac.*"), {}), "routes[0].path.regex: write /d/%E2%82%AC.*");
  EXPECT_EQ(refusal(expression("/%61dmin%2eold/.*"), {}), R"(routes[0].path.regex: write /admin\.old/.*)");
  EXPECT_EQ(refusal(expression("/d/%E2%82%AC.*"), PathMode::normalise), "");
  for (const char* text : {"/d/(?i:%e2%82%ac).*", "(?si)/d/%e2", "/a(%2F|%2f)b", "/[%af09]+", R"(/d/\\%61)"})
    EXPECT_EQ(refusal(expression(text), {}), "") << text;
  EXPECT_EQ(refusal(expression("/d/%e2%82%ac.*"), PathMode::as_is), "");
  EXPECT_EQ(refusal(expression("/100%/[a-f]+%"), {}), "");
}

}  // namespace
}  // namespace ebb::routes
