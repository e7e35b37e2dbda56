// Two providers side by side: what each states, and what both together want.
#include "control/desired_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ebb::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

routes::Model part(std::vector<std::string> listeners, std::vector<std::string> backends, std::string digest) {
  routes::Model model;
  model.digest = std::move(digest);
  for (std::string& name : listeners) model.listeners.push_back({.name = std::move(name)});
  for (std::string& name : backends) {
    model.routes.push_back({.host = name + ".example.com", .backend = name});
    model.backends.emplace_back().name = std::move(name);
  }
  return model;
}

std::vector<std::string> names(const auto& objects) {
  std::vector<std::string> all;
  for (const auto& object : objects) all.push_back(object.name);
  return all;
}

TEST(DesiredState, OfOneProviderIsWhatItStates) {
  DesiredState state({"file"});
  const auto all = state.join("file", part({"web"}, {"api"}, "d1"));
  ASSERT_TRUE(all);
  state.keep();
  EXPECT_EQ(all->digest, "d1");
  EXPECT_THAT(names(state.join("file", part({"other"}, {}, "d2"))->listeners), ElementsAre("other"));
}

TEST(DesiredState, IsTheSumOfWhatProvidersState) {
  DesiredState state({"file", "cluster"});
  routes::Model first = part({"web"}, {"api"}, "d1");
  first.limits.fields = 7;
  ASSERT_TRUE(state.join("file", first));
  state.keep();
  const auto all = state.join("cluster", part({}, {"shop", "cart"}, "e1"));
  ASSERT_TRUE(all);
  EXPECT_THAT(names(all->listeners), ElementsAre("web"));
  EXPECT_THAT(names(all->backends), ElementsAre("api", "shop", "cart"));
  EXPECT_EQ(all->routes.size(), 3u);
  EXPECT_EQ(all->limits.fields, 7u) << "what there is once is the first one's";
  EXPECT_EQ(all->digest, "d1+e1");
}

TEST(DesiredState, KeepsTheLastPartThatIsServed) {
  DesiredState state({"file", "cluster"});
  ASSERT_TRUE(state.join("cluster", part({}, {"shop"}, "e1")));
  state.keep();
  ASSERT_TRUE(state.join("cluster", part({}, {"bad"}, "e2")));  // the workers refused it: it is not kept
  EXPECT_THAT(names(state.join("file", part({"web"}, {"api"}, "d1"))->backends), ElementsAre("api", "shop"));
}

TEST(DesiredState, RefusesANameThatAnotherProviderHas) {
  DesiredState state({"file", "cluster"});
  ASSERT_TRUE(state.join("file", part({"web"}, {"api"}, "d1")));
  state.keep();
  const auto refused = state.join("cluster", part({"web"}, {"api", "shop"}, "e1"));
  ASSERT_FALSE(refused);
  ASSERT_EQ(refused.error().size(), 2u);
  EXPECT_THAT(refused.error()[0].text(), HasSubstr("cluster: listener \"web\": file has one of that name"));
  EXPECT_EQ(refused.error()[1].key, "backend \"api\"");
}

}  // namespace
}  // namespace ebb::control
