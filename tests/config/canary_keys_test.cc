// The keys of the canary.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load.h"
#include "tests/config/refusals.h"

namespace ebb::config {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::expected<Loaded, Diagnostics> load_with(std::string_view canary, std::string_view route = "host: canary.test") {
  return load_text("listeners:\n  - {name: web, bind: \"127.0.0.1:8080\", protocol: http}\nroutes:\n  - {" +
                       std::string(route) +
                       ", backend: canary}\nbackends:\n  - name: canary\n    endpoints: [{name: a, address: "
                       "\"127.0.0.1:9080\"}]\n  - {name: unused}\ncanary: {" +
                       std::string(canary) + "}\n",
                   test_file);
}

constexpr std::string_view good = "backends: [canary], ports: [9080, 9081]";

std::vector<std::string> errors(std::string_view canary, std::string_view route = "host: canary.test") {
  return errors_of(load_with(canary, route));
}

TEST(CanaryKeys, AreRead) {
  const auto small = load_with(good);
  ASSERT_TRUE(small) << text_of(small.error());
  ASSERT_TRUE(small->model.canary);
  EXPECT_EQ(small->model.canary->every, seconds{5});
  EXPECT_EQ(small->model.canary->budget, seconds{2});
  EXPECT_TRUE(small->model.canary->verify);
  EXPECT_THAT(small->model.canary->replicas, IsEmpty());

  const auto full = load_with(std::string(good) +
                              ", every: 1s, budget: 500ms, ca: ca.pem, verify: false, replicas: [{name: b, host: "
                              "10.0.0.2}, {name: c, host: c.routers.svc}], pods: [one, \"canary-*\"], settle: 30s");
  ASSERT_TRUE(full) << text_of(full.error());
  const routes::CanaryModel& canary = *full->model.canary;
  EXPECT_THAT(canary.backends, ElementsAre("canary"));
  EXPECT_THAT(canary.ports, ElementsAre(9080u, 9081u));
  EXPECT_EQ(canary.every, seconds{1});
  EXPECT_EQ(canary.budget, milliseconds{500});
  EXPECT_EQ(canary.ca, "/etc/ebbgate/ca.pem");
  EXPECT_FALSE(canary.verify);
  EXPECT_EQ(canary.settle, seconds{30});
  EXPECT_THAT(canary.pods, ElementsAre("one", "canary-*"));
  ASSERT_EQ(canary.replicas.size(), 2u);
  EXPECT_EQ(canary.replicas[1].name, "c");
  EXPECT_EQ(canary.replicas[1].host, "c.routers.svc");
  EXPECT_THAT(files_of(full->model), ElementsAre("/etc/ebbgate/ca.pem"));
}

TEST(CanaryKeys, RefusalsSayWhereAndWhatToDo) {
  EXPECT_THAT(errors("every: 5s"), ElementsAre(HasSubstr("canary: the key `backends` is missing")));
  EXPECT_THAT(errors("backends: [canari], ports: [9080, 9081]"),
              ElementsAre("9:21: canary.backends[0]: there is no backend \"canari\"; did you mean `canary`?"));
  EXPECT_THAT(errors("backends: [canary, unused], ports: [9080, 9081]"),
              ElementsAre(HasSubstr("canary.backends[1]: no route leads to \"unused\"")));
  EXPECT_THAT(errors("backends: [canary]"),
              ElementsAre(HasSubstr("endpoint \"a\" has port 9080, which is none of `ports`")));
  EXPECT_THAT(errors("backends: [canary], ports: [9080]"),
              ElementsAre(HasSubstr("canary.ports: two ports are needed")));
  EXPECT_THAT(errors("backends: [canary], ports: [9080, 9080]"),
              ElementsAre(HasSubstr("canary.ports: two ports are needed")));
  EXPECT_THAT(errors("backends: [canary], ports: [9080, 70000]"), ElementsAre(HasSubstr("canary.ports[1]: 70000 is")));
  EXPECT_THAT(errors(std::string(good) + ", every: 100ms"), ElementsAre(HasSubstr("canary.every: out of range")));
  EXPECT_THAT(errors(std::string(good) + ", settle: 2h"), ElementsAre(HasSubstr("canary.settle: out of range")));
  EXPECT_THAT(errors(std::string(good) + ", budget: 6s"),
              ElementsAre(HasSubstr("canary.budget: a probe must end before the next begins")));
  EXPECT_THAT(errors(std::string(good) + ", pods: [\"\", \"a*b\"]"),
              ElementsAre(HasSubstr("canary.pods[0]: \"\" is not a pod name"), HasSubstr("canary.pods[1]: \"a*b\"")));
  EXPECT_THAT(errors(std::string(good) + ", replicas: [{name: self, host: 10.0.0.2}]"),
              ElementsAre(HasSubstr("canary.replicas[0].name: \"self\" is this router")));
  EXPECT_THAT(errors(std::string(good) + ", replicas: [{name: b, host: \"10.0.0.2:80\"}]"),
              ElementsAre(HasSubstr("canary.replicas[0].host: ")));
}

TEST(CanaryKeys, ARouteThatCannotBeWalkedIsRefused) {
  for (const std::string_view route : {"path: /x", "host: \"*.test\"", "host: canary.test, path: {regex: \"/.*\"}",
                                       "host: canary.test, methods: [GET]", "host: canary.test, headers: {X-A: b}"}) {
    EXPECT_THAT(errors(good, route), ElementsAre(HasSubstr("routes[0]: the canary cannot probe this route"))) << route;
  }
  EXPECT_THAT(errors(good, "host: canary.test, path: {exact: /health}, listeners: [web]"), IsEmpty());
}

}  // namespace
}  // namespace ebb::config
