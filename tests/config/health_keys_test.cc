// The keys of active checks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load.h"

namespace ebb::config {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> errors(std::string_view keys) {
  std::vector<std::string> texts;
  const auto result =
      load_text("listeners: []\nbackends:\n  - {name: a, health: {" + std::string(keys) + "}}\n", "gate.yaml");
  if (result) return texts;
  for (const Diagnostic& diagnostic : result.error()) texts.push_back(diagnostic.text());
  return texts;
}

TEST(HealthKeys, AreRead) {
  const auto all = load_text(R"(
listeners: []
backends:
  - {name: unchecked}
  - {name: tcp, health: {}}
  - name: full
    health: {http: "/healthz?full=1", host: shop.internal, expect: [204, 3xx], port: 8081, every: 500ms, timeout: 200ms, fall: 3, rise: 1}
)",
                             "gate.yaml");
  ASSERT_TRUE(all) << text_of(all.error());
  const auto& backends = all->model.backends;
  EXPECT_FALSE(backends[0].health) << "nobody is asked who did not ask for it";
  ASSERT_TRUE(backends[1].health);
  EXPECT_EQ(backends[1].health->http, "");
  EXPECT_EQ(backends[1].health->every, seconds{2});
  EXPECT_EQ(backends[1].health->timeout, seconds{1});
  EXPECT_EQ(backends[1].health->fall, 2u);
  EXPECT_EQ(backends[1].health->rise, 2u);
  ASSERT_TRUE(backends[2].health);
  const routes::HealthModel& full = *backends[2].health;
  EXPECT_EQ(full.http, "/healthz?full=1");
  EXPECT_EQ(full.host, "shop.internal");
  ASSERT_EQ(full.expect.size(), 2u);
  EXPECT_EQ(full.expect[0].first, 204);
  EXPECT_EQ(full.expect[0].last, 204);
  EXPECT_EQ(full.expect[1].first, 300);
  EXPECT_EQ(full.expect[1].last, 399);
  EXPECT_EQ(full.port, 8081u);
  EXPECT_EQ(full.every, milliseconds{500});
  EXPECT_EQ(full.timeout, milliseconds{200});
  EXPECT_EQ(full.fall, 3u);
  EXPECT_EQ(full.rise, 1u);
}

TEST(HealthKeys, RefusalsSayWhereAndWhatToDo) {
  EXPECT_THAT(errors("http: healthz"),
              ElementsAre("gate.yaml:3:30: backends[0].health.http: \"healthz\" is not a path; give one such as "
                          "/healthz"));
  EXPECT_THAT(errors("http: \"/a#b\""), ElementsAre(HasSubstr("health.http: \"/a#b\" is not a path")));
  EXPECT_THAT(errors("http: /, host: \"a b\""), ElementsAre(HasSubstr("health.host: \"a b\" is not a host name")));
  EXPECT_THAT(errors("http: /, expect: [100]"), ElementsAre(HasSubstr("health.expect[0]: expected a status, found")));
  EXPECT_THAT(errors("http: /, expect: [6xx]"), ElementsAre(HasSubstr("give 200 to 599, or 2xx to 5xx for a class")));
  EXPECT_THAT(
      errors("expect: [200]"),
      ElementsAre(HasSubstr("health.expect: this key needs a check over HTTP; add http: PATH, or remove the key")));
  EXPECT_THAT(errors("host: a.internal"), ElementsAre(HasSubstr("health.host: this key needs a check over HTTP")));
  EXPECT_THAT(errors("port: 70000"), ElementsAre(HasSubstr("health.port: 70000 is out of range; give 1 to 65535")));
  EXPECT_THAT(errors("every: 10ms"), ElementsAre(HasSubstr("health.every: out of range; give 100ms to 1h")));
  EXPECT_THAT(errors("every: 2h"), ElementsAre(HasSubstr("health.every: out of range")));
  EXPECT_THAT(errors("every: 1s, timeout: 2s"),
              ElementsAre(HasSubstr("health.timeout: a check must end before the next begins; give at most as "
                                    "much as `every`")));
  EXPECT_THAT(errors("timeout: 0s"), ElementsAre(HasSubstr("health.timeout: a time-out must be above zero")));
  EXPECT_THAT(errors("fall: 0"), ElementsAre(HasSubstr("health.fall: 0 is out of range; give 1 to 100")));
  EXPECT_THAT(errors("rise: 101"), ElementsAre(HasSubstr("health.rise: 101 is out of range")));
  EXPECT_THAT(errors("path: /"), ElementsAre(HasSubstr("backends[0].health.path: there is no such key")));
  EXPECT_THAT(errors("every: 1s"), IsEmpty());
}

}  // namespace
}  // namespace ebb::config
