#include "routes/cors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ebb::routes {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> fields(const CorsAnswer& answer) {
  std::vector<std::string> texts;
  for (const FieldModel& field : answer.response.appended) texts.push_back(field.name + ": " + field.value);
  return texts;
}

const CorsModel shop{.origins = {"https://shop.test", "https://*.cdn.test", "http://dev.test:8080"},
                     .methods = {"PUT", "DELETE"},
                     .headers = {"X-Token"},
                     .expose = {"X-Total", "X-Page"},
                     .credentials = true,
                     .max_age = std::chrono::minutes{10}};

TEST(Cors, AnswersAPreflightFromAPermittedOrigin) {
  const CorsAnswer answer = Cors(shop).answer({"OPTIONS", "https://shop.test", "PUT", "x-token"});
  EXPECT_TRUE(answer.preflight);
  EXPECT_THAT(fields(answer),
              ElementsAre("Vary: Origin", "Access-Control-Allow-Origin: https://shop.test",
                          "Access-Control-Allow-Credentials: true", "Access-Control-Allow-Methods: PUT, DELETE",
                          "Access-Control-Allow-Headers: X-Token", "Access-Control-Max-Age: 600"));
}

TEST(Cors, AnswersAPreflightFromAnotherOriginWithoutPermission) {
  const CorsAnswer answer = Cors(shop).answer({"OPTIONS", "https://evil.test", "PUT", {}});
  EXPECT_TRUE(answer.preflight);
  EXPECT_THAT(fields(answer), ElementsAre("Vary: Origin"));
}

TEST(Cors, AddsFieldsToTheResponseOfAnActualRequestAndDropsTheBackends) {
  const CorsAnswer answer = Cors(shop).answer({"GET", "https://shop.test", {}, {}});
  EXPECT_FALSE(answer.preflight);
  EXPECT_THAT(fields(answer),
              ElementsAre("Vary: Origin", "Access-Control-Allow-Origin: https://shop.test",
                          "Access-Control-Allow-Credentials: true", "Access-Control-Expose-Headers: X-Total, X-Page"));
  EXPECT_TRUE(answer.response.drops("access-control-allow-origin"));
  EXPECT_FALSE(answer.response.drops("vary"));
}

TEST(Cors, LetsOtherRequestsPass) {
  const Cors cors(shop);
  EXPECT_FALSE(cors.answer({"OPTIONS", "https://shop.test", {}, {}}).preflight);
  EXPECT_FALSE(cors.answer({"OPTIONS", {}, "PUT", {}}).preflight);
  EXPECT_FALSE(cors.answer({"GET", "https://shop.test", "PUT", {}}).preflight);
  EXPECT_THAT(fields(cors.answer({"GET", {}, {}, {}})), ElementsAre("Vary: Origin"));
}

TEST(Cors, ComparesOriginsWholeAndLetsAStarStandForLabels) {
  const Cors cors(shop);
  const auto permitted = [&cors](const char* origin) {
    return fields(cors.answer({"GET", origin, {}, {}})).size() > 1;
  };
  for (const char* origin :
       {"https://shop.test", "https://a.cdn.test", "https://b.a.cdn.test", "http://dev.test:8080"}) {
    EXPECT_TRUE(permitted(origin)) << origin;
  }
  for (const char* origin : {"null", "", "http://shop.test", "https://shop.test:8443", "https://shop.test.evil",
                             "https://cdn.test", "https://acdn.test", "http://a.cdn.test",
                             "https://evil.test/.cdn.test", "https://evil.test:1@.cdn.test", "http://dev.test", "*"}) {
    EXPECT_FALSE(permitted(origin)) << origin;
  }
}

TEST(Cors, SaysStarForEveryOriginWithoutCredentials) {
  const CorsModel open{.origins = {"*"}, .methods = {"*"}, .headers = {"*"}};
  EXPECT_THAT(fields(Cors(open).answer({"OPTIONS", "https://any.test", "PUT", "a, b"})),
              ElementsAre("Access-Control-Allow-Origin: *", "Access-Control-Allow-Methods: *",
                          "Access-Control-Allow-Headers: *", "Access-Control-Max-Age: 5"));
  EXPECT_THAT(fields(Cors(open).answer({"GET", {}, {}, {}})), IsEmpty());
}

TEST(Cors, SaysBackWhatWasAskedForWhenCredentialsMakeStarAName) {
  const CorsModel open{.origins = {"https://a.test"}, .methods = {"*"}, .headers = {"*"}, .credentials = true};
  EXPECT_THAT(fields(Cors(open).answer({"OPTIONS", "https://a.test", "PATCH", "x-a, x-b"})),
              ElementsAre("Vary: Origin", "Access-Control-Allow-Origin: https://a.test",
                          "Access-Control-Allow-Credentials: true", "Access-Control-Allow-Methods: PATCH",
                          "Access-Control-Allow-Headers: x-a, x-b", "Access-Control-Max-Age: 5"));
}

TEST(Hsts, IsWrittenWithItsDirectives) {
  EXPECT_EQ(hsts_value({.max_age = std::chrono::hours{1}}), "max-age=3600");
  EXPECT_EQ(hsts_value({.include_subdomains = true, .preload = true}), "max-age=31536000; includeSubDomains; preload");
}

}  // namespace
}  // namespace ebb::routes
