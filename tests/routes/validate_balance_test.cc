#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "routes/validate.h"
#include "tests/routes/model_builder.h"

namespace ebb::routes {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ValidateBalance : public testing::Test {
 protected:
  ValidateBalance() : model_(small_model()) {}

  std::vector<std::string> refused() {
    std::vector<std::string> keys;
    for (const Refusal& refusal : validate(model_)) keys.push_back(refusal.key);
    return keys;
  }
  BackendModel& web() { return model_.backends[0]; }

  Model model_;
};

TEST_F(ValidateBalance, AHashOfAHeaderNeedsItsName) {
  web().balance = Balance::header_hash;
  EXPECT_THAT(refused(), ElementsAre("backends[0].hash_header"));
  for (const char* name : {"X Tenant", "Host"}) {
    web().hash_header = name;
    EXPECT_THAT(refused(), ElementsAre("backends[0].hash_header"));
  }
  web().hash_header = "X-Tenant";
  EXPECT_THAT(refused(), IsEmpty());
  web().balance = Balance::source_hash;
  EXPECT_THAT(refused(), ElementsAre("backends[0].hash_header"));
}

TEST_F(ValidateBalance, CookiesAreOnesThatBrowsersKeep) {
  web().sticky = StickyModel{.cookie = "E B"};
  EXPECT_THAT(refused(), ElementsAre("backends[0].sticky.cookie"));
  web().sticky = StickyModel{.cookie = "EBB", .max_age = std::chrono::milliseconds{500}};
  EXPECT_THAT(refused(), ElementsAre("backends[0].sticky.max_age"));
  web().sticky = StickyModel{.cookie = "EBB", .secure = CookieSecure::never, .same_site = CookieSameSite::none};
  EXPECT_THAT(refused(), ElementsAre("backends[0].sticky.secure"));
  web().sticky = StickyModel{.cookie = "__Host-EBB", .secure = CookieSecure::never};
  EXPECT_THAT(refused(), ElementsAre("backends[0].sticky.secure"));
  web().sticky = StickyModel{.cookie = "__Host-EBB", .max_age = std::chrono::hours{1}};
  EXPECT_THAT(refused(), IsEmpty());
}

TEST_F(ValidateBalance, SlowStartHasALimit) {
  web().slow_start = std::chrono::hours{2};
  EXPECT_THAT(refused(), ElementsAre("backends[0].slow_start"));
  web().slow_start = std::chrono::hours{1};
  EXPECT_THAT(refused(), IsEmpty());
}

TEST_F(ValidateBalance, BytesHaveNeitherCookiesNorFields) {
  model_.listeners.push_back(listener("raw", "127.0.0.1:3306"));
  model_.listeners[1].protocol = Protocol::tcp;
  model_.listeners[1].backend = "web";
  web().sticky = StickyModel{.cookie = "EBB"};
  EXPECT_THAT(refused(), ElementsAre("listeners[1].backend"));
  web().sticky.reset();
  web().balance = Balance::header_hash;
  web().hash_header = "X-Tenant";
  EXPECT_THAT(refused(), ElementsAre("listeners[1].backend"));
  model_.listeners.pop_back();
  model_.routes[0].tls = TlsMode::passthrough;
  EXPECT_THAT(refused(), ElementsAre("routes[0].tls"));
  web().balance = Balance::source_hash;
  web().hash_header.clear();
  EXPECT_THAT(refused(), IsEmpty());
}

TEST_F(ValidateBalance, BackendsOfOneHostDoNotUnbindEachOthersClients) {
  model_.backends.push_back(backend("api"));
  for (BackendModel& backend : model_.backends) backend.sticky = StickyModel{.cookie = "EBB"};
  model_.routes = {route("shop.test", "/"), route("Shop.test", "/api", "api")};
  EXPECT_THAT(refused(), ElementsAre("routes[1].backend"));
  model_.routes[1].host = "api.test";
  EXPECT_THAT(refused(), IsEmpty());
  model_.routes[1].host = "shop.test";
  model_.backends[1].sticky->cookie = "API";
  EXPECT_THAT(refused(), IsEmpty());
}

TEST_F(ValidateBalance, BackendsThatShareARouteMayShareACookie) {
  model_.backends.push_back(backend("next"));
  for (BackendModel& backend : model_.backends) backend.sticky = StickyModel{.cookie = "EBB"};
  model_.routes = {route("shop.test", "/"), route("shop.test", "/cart", "")};
  model_.routes[1].shares = {{.name = "web", .weight = 95}, {.name = "next", .weight = 5}};
  EXPECT_THAT(refused(), IsEmpty());
}

}  // namespace
}  // namespace ebb::routes
