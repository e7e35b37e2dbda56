#include "routes/path_readings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "routes/path_form.h"

namespace ebb::routes {
namespace {

using testing::Contains;
using testing::Each;
using testing::Not;

std::string normal(std::string_view path) {
  std::string out;
  return normalise_path(path, out) ? out : "none";
}

std::set<std::string> readings(std::string_view path) {
  std::set<std::string> all;
  EXPECT_TRUE(every_reading(path, [&all](std::string_view reading) { return all.emplace(reading), true; })) << path;
  return all;
}

TEST(PathReadings, OfAnOrdinaryPathAreItself) {
  for (const char* path : {"/a/b", "/a%20b?x=%2F;", "/caf%C3%A9", "/a/"})
    EXPECT_EQ(readings(path), std::set<std::string>{path});
}

TEST(PathReadings, KnowEncodedSlashesAndBackslashes) {
  EXPECT_THAT(readings("/admin%2Fx"), Contains("/admin/x"));
  EXPECT_THAT(readings("/admin%5Cx?q"), Contains("/admin/x?q"));
  EXPECT_THAT(readings("/public/..%2Fadmin"), Contains("/admin"));
  EXPECT_THAT(readings("/public/%2E%2E%5Cadmin"), Contains("/admin"));
  EXPECT_THAT(readings("/public/..%252Fadmin"), Contains("/admin"));
  EXPECT_THAT(readings("/public/..%25252Fadmin"), Contains("/admin"));
  EXPECT_THAT(readings("/%2Fadmin"), Contains("/admin"));
  EXPECT_THAT(readings("/x\\..\\admin"), Contains("/admin"));
  EXPECT_THAT(readings("/100%/..%2fadmin%"), Contains("/admin%25"));
  EXPECT_THAT(readings("/ad%min"), Contains("/admin"));
  EXPECT_THAT(readings("/x/..%%2Fadmin"), Contains("/admin"));
}

TEST(PathReadings, KnowParametersAndSlashes) {
  EXPECT_THAT(readings("/;/admin"), Contains("/admin"));
  EXPECT_THAT(readings("/admin;x"), Contains("/admin"));
  EXPECT_THAT(readings("/admin;x=/y"), Contains("/admin/y"));
  EXPECT_THAT(readings("/public/..;/admin"), Contains("/admin"));
  EXPECT_THAT(readings("/public/..;a=b/admin"), Contains("/admin"));
  EXPECT_THAT(readings("/admin%3Bx"), Contains("/admin"));
  EXPECT_THAT(readings("//admin"), Contains("/admin"));
  EXPECT_THAT(readings("/a///b"), Contains("/a/b"));
  EXPECT_THAT(readings("/admin%3Fx"), Contains("/admin"));
  EXPECT_THAT(readings("/admin%23x"), Contains("/admin"));
  EXPECT_THAT(readings("/admin%00x"), Contains("/admin"));
  EXPECT_THAT(readings("/admin%2500x"), Contains("/admin"));
}

// A program may have any of the habits without the others.
TEST(PathReadings, AreThoseOfEveryMixtureOfHabits) {
  const auto all = readings("/public/..;/..%2Fadmin");
  EXPECT_THAT(all, Contains("/admin"));                  // without parameters, decoded
  EXPECT_THAT(all, Contains("/public/admin"));           // decoded alone
  EXPECT_THAT(all, Contains("/..%2Fadmin"));             // without parameters alone
  EXPECT_THAT(all, Contains("/public/..;/..%2Fadmin"));  // neither
}

// Each habit may come before or after each other one.
TEST(PathReadings, AreThoseOfEveryOrderOfHabits) {
  EXPECT_THAT(readings("/x%2Fy/../admin%2Fz"), Contains("/admin/z"));
  EXPECT_THAT(readings("/x%2Fy/../admin%2Fz"), Contains("/x/admin/z"));
  EXPECT_THAT(readings("/x%2Fy/..%3B/admin"), Contains("/admin"));
  EXPECT_THAT(readings("/a/%2e%2e%2F../admin"), Contains("/a/admin"));
  EXPECT_THAT(readings("/a//../admin"), Contains("/a/admin"));
  EXPECT_THAT(readings("/a//../admin"), Contains("/admin"));
  EXPECT_THAT(readings("/x/a;%2F..;/b"), Contains("/x/b"));
  EXPECT_THAT(readings("/x/a;%2F..;/b"), Contains("/x/a/b"));
}

TEST(PathReadings, MayKeepTheirDotSegments) {
  EXPECT_THAT(readings("/%61dmin/../x"), Contains("/admin/../x"));
  EXPECT_THAT(readings("/admin;/../x"), Contains("/admin/../x"));
}

TEST(PathReadings, OfTheNormalFormAreAmongThem) {
  for (const char* path :
       {"/x%2Fy/%2e%2e/admin%2Fz", "/a%2f%61/..%3b/%252e./b", "/%5c../%7e;a%25", "/a%2541/.%2e/%41"}) {
    const auto all = readings(path);
    for (const std::string& reading : readings(normal(path))) EXPECT_THAT(all, Contains(reading)) << path;
  }
}

TEST(PathReadings, AreInTheFormInWhichPathsAreMatched) {
  EXPECT_THAT(readings("/a%20b%2Fc%C3%A9%3F"), Contains("/a%20b/c%C3%A9%3F"));
  EXPECT_THAT(readings("/%40admin"), Contains("/@admin"));
  EXPECT_THAT(readings("/a%252541"), Each(Not(testing::HasSubstr("\n"))));
}

TEST(PathReadings, EndWithTheFirstThatDoesNotAgreeAndAreBounded) {
  int asked = 0;
  EXPECT_FALSE(every_reading("/;/a%2Fb", [&asked](std::string_view) { return asked += 1, false; }));
  EXPECT_EQ(asked, 1);
  int looked_at = 0;
  EXPECT_FALSE(every_reading("/api/a;b%2Fc//d%5Ce/./f%253Bg/..%252Fq", [&](std::string_view) { return ++looked_at; }));
  EXPECT_LE(looked_at, 64);
  EXPECT_FALSE(every_reading("/" + std::string(3000, 'n') + ";/a%2Fb//c", [](std::string_view) { return true; }));
  std::string hostile = "/";
  for (int i = 0; i < 700; ++i) hostile += "%2F;//%5C%3F";
  EXPECT_FALSE(every_reading(hostile, [](std::string_view) { return true; }));
}

}  // namespace
}  // namespace ebb::routes
