#include "routes/field_edits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/routes/model_builder.h"

namespace ebb::routes {
namespace {

using testing::ElementsAre;

std::vector<std::string> texts(const std::vector<FieldModel>& fields) {
  std::vector<std::string> texts;
  for (const FieldModel& field : fields) texts.push_back(field.name + ": " + field.value);
  return texts;
}

TEST(FieldEdits, DropWhatIsRemovedAndSetAndAppendWhatIsSetAndAdded) {
  const FieldEdits edits = FieldEdits::of({.set = {{"X-Set", "1"}}, .add = {{"X-Add", "2"}}, .remove = {"X-Gone"}});
  EXPECT_TRUE(edits.drops("x-gone"));
  EXPECT_TRUE(edits.drops("X-SET"));
  EXPECT_FALSE(edits.drops("X-Add"));
  EXPECT_FALSE(edits.drops("X-Gon"));
  EXPECT_THAT(texts(edits.appended), ElementsAre("X-Set: 1", "X-Add: 2"));
  EXPECT_TRUE(FieldEdits::of({}).empty());
}

TEST(FieldEdits, OfABackendAreMadeOnWhatThoseOfTheRouteLeave) {
  FieldEdits edits =
      FieldEdits::of({.set = {{"A", "route"}}, .add = {{"B", "route"}, {"C", "route"}}, .remove = {"D"}});
  edits.then(FieldEdits::of({.set = {{"a", "share"}}, .add = {{"C", "share"}, {"D", "share"}}, .remove = {"b"}}));
  EXPECT_THAT(texts(edits.appended), ElementsAre("C: route", "a: share", "C: share", "D: share"));
  for (const char* name : {"a", "b", "d"}) EXPECT_TRUE(edits.drops(name)) << name;
  EXPECT_FALSE(edits.drops("c"));
}

TEST(Shares, GetTheirWeightOfAnyConsecutiveNumbers) {
  const std::vector<Share> shares = {
      {.backend = 0, .weight = 90}, {.backend = 1, .weight = 0}, {.backend = 2, .weight = 10}};
  for (const std::uint64_t start : {std::uint64_t{0}, std::uint64_t{1234567}}) {
    int counts[3] = {};
    for (std::uint64_t i = 0; i < 100; ++i) counts[*pick(shares, start + i)] += 1;
    EXPECT_THAT(counts, ElementsAre(90, 0, 10));
  }
  EXPECT_EQ(pick(shares, 7), pick(shares, 7));
  EXPECT_EQ(pick(std::vector<Share>{{.weight = 0}}, 1), std::nullopt);
  EXPECT_EQ(pick({}, 1), std::nullopt);
}

TEST(Shares, AreCompiledWithTheEditsOfTheirRoute) {
  Model model = small_model();
  model.backends.push_back(backend("next"));
  RouteModel& split = model.routes[0];
  split.backend = "";
  split.shares = {{.name = "next", .weight = 9}, {.name = "web"}};
  split.shares[0].request_headers.set = {{"X-Version", "next"}};
  split.policy.make().request_headers.set = {{"X-Version", "any"}, {"X-Route", "split"}};
  split.policy.make().mirrors = {{.backend = "next", .percent = 25}};
  const auto snapshot = compiled(std::move(model));
  const Route& route = snapshot->routes()[0];
  ASSERT_NE(route.shares, nullptr);
  EXPECT_EQ(route.backend, 1u);
  EXPECT_THAT(texts((*route.shares)[0].request.appended), ElementsAre("X-Route: split", "X-Version: next"));
  EXPECT_THAT(texts((*route.shares)[1].request.appended), ElementsAre("X-Version: any", "X-Route: split"));
  EXPECT_EQ((*route.shares)[1].backend, 0u);
  ASSERT_EQ(route.policy->mirrors.size(), 1u);
  EXPECT_EQ(route.policy->mirrors[0].backend, 1u);
  int copies = 0;
  for (std::uint64_t i = 0; i < 100; ++i) copies += route.policy->mirrors[0].wants(i);
  EXPECT_EQ(copies, 25);
}

TEST(Policy, IsThereOnlyForRoutesThatHaveOne) {
  RouteModel own = route("a", "");
  own.policy.make().hsts = HstsModel{};
  const auto snapshot = compiled({own, route("b", "")});
  EXPECT_EQ(snapshot->match({.authority = "a", .path = "/"})->policy->hsts, "max-age=31536000");
  EXPECT_EQ(snapshot->match({.authority = "b", .path = "/"})->policy, nullptr);
}

TEST(Policy, OfARedirectHasNoBackend) {
  RouteModel away = route("a", "", "");
  away.policy.make().redirect = RedirectModel{.scheme = "https"};
  const auto snapshot = compiled({away});
  const Route* found = snapshot->match({.method = "GET", .authority = "a", .path = "/"});
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->backend, no_backend);
}

TEST(ErrorBody, OfAStatusComesBeforeThatOfItsClass) {
  const ErrorBodyModel bodies[] = {{.statuses = {500, 599}, .text = "class"}, {.statuses = {503, 503}, .text = "503"}};
  EXPECT_EQ(error_body(bodies, 503)->body(), "503");
  EXPECT_EQ(error_body(bodies, 502)->body(), "class");
  EXPECT_EQ(error_body(bodies, 404), nullptr);
}

}  // namespace
}  // namespace ebb::routes
