// The keys that say how an endpoint is chosen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load.h"

namespace ebb::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> errors(std::string_view keys) {
  std::vector<std::string> texts;
  const auto result = load_text("listeners: []\nbackends: [{name: a, " + std::string(keys) + "}]\n", "gate.yaml");
  if (result) return texts;
  for (const Diagnostic& diagnostic : result.error()) texts.push_back(diagnostic.text());
  return texts;
}

TEST(BalanceKeys, AreRead) {
  const auto all = load_text(R"(
listeners: []
backends:
  - {name: plain}
  - name: full
    balance: header_hash
    hash_header: X-Tenant
    slow_start: 30s
    sticky: {cookie: EBB, drain: keep, secure: always, same_site: strict, max_age: 1h}
  - {name: two, balance: random, slow_start: 0s}
  - {name: source, balance: source_hash}
)",
                             "gate.yaml");
  ASSERT_TRUE(all) << text_of(all.error());
  const auto& backends = all->model.backends;
  EXPECT_EQ(backends[0].balance, routes::Balance::least_request);
  EXPECT_FALSE(backends[0].sticky);
  EXPECT_EQ(backends[0].slow_start, base::Duration::zero());
  EXPECT_EQ(backends[1].balance, routes::Balance::header_hash);
  EXPECT_EQ(backends[1].hash_header, "X-Tenant");
  EXPECT_EQ(backends[1].slow_start, std::chrono::seconds{30});
  ASSERT_TRUE(backends[1].sticky);
  EXPECT_EQ(backends[1].sticky->cookie, "EBB");
  EXPECT_EQ(backends[1].sticky->drain, routes::StickyDrain::keep);
  EXPECT_EQ(backends[1].sticky->secure, routes::CookieSecure::always);
  EXPECT_EQ(backends[1].sticky->same_site, routes::CookieSameSite::strict);
  EXPECT_EQ(backends[1].sticky->max_age, std::chrono::hours{1});
  EXPECT_EQ(backends[2].balance, routes::Balance::random);
  EXPECT_EQ(backends[3].balance, routes::Balance::source_hash);
}

TEST(BalanceKeys, RefusalsSayWhatToDo) {
  EXPECT_THAT(errors("sticky: {}"), ElementsAre(HasSubstr("backends[0].sticky: the key `cookie` is missing")));
  EXPECT_THAT(errors("sticky: {cookie: EBB, drain: stay}"), ElementsAre(HasSubstr("expected `move`, `keep`")));
  EXPECT_THAT(errors("sticky: {cookie: EBB, secure: never, same_site: none}"),
              ElementsAre(HasSubstr("backends[0].sticky.secure: browsers reject a cookie with same_site: none that "
                                    "is not secure; use secure: always or auto")));
  EXPECT_THAT(errors("balance: header_hash"),
              ElementsAre(HasSubstr("balance: header_hash needs the name of a field; add hash_header: NAME")));
  EXPECT_THAT(errors("balance: hash"), ElementsAre(HasSubstr("`random`, `source_hash`, `header_hash`")));
  EXPECT_THAT(errors("slow_start: 2h"),
              ElementsAre(HasSubstr("backends[0].slow_start: out of range; give at most 1h")));
}

}  // namespace
}  // namespace ebb::config
