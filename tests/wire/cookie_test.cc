#include "wire/cookie.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace ebb::wire {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

std::vector<std::pair<std::string, std::string>> pairs(std::string_view field) {
  std::vector<std::pair<std::string, std::string>> found;
  CookiePair pair;
  while (take_cookie(field, pair)) found.emplace_back(pair.name, pair.value);
  return found;
}

std::string without(std::string_view field, std::vector<std::string_view> names) {
  std::string out = "|";
  return without_cookies(field, names, out) ? out : "none" + out;
}

std::string written(const SetCookie& cookie) {
  std::string out;
  write_set_cookie(cookie, out);
  return out;
}

TEST(Cookie, PairsAreReadAsBrowsersSendThem) {
  EXPECT_THAT(pairs("SID=31d4d96e; lang=en-US"), ElementsAre(Pair("SID", "31d4d96e"), Pair("lang", "en-US")));
  EXPECT_THAT(pairs("a=b=c; empty=; \"q\"=1"), ElementsAre(Pair("a", "b=c"), Pair("empty", ""), Pair("\"q\"", "1")));
}

TEST(Cookie, WhatOnlyLibrariesSendIsReadAsWell) {
  EXPECT_THAT(pairs("a=1;b=2 ;\tc = 3;;  ; d=\"4\";"),
              ElementsAre(Pair("a", "1"), Pair("b", "2"), Pair("c", "3"), Pair("d", "4")));
  EXPECT_THAT(pairs("lonely; a=\"; b=\"\""), ElementsAre(Pair("", "lonely"), Pair("a", "\""), Pair("b", "")));
  EXPECT_THAT(pairs(""), IsEmpty());
  EXPECT_THAT(pairs(" ; ;\t"), IsEmpty());
}

TEST(Cookie, OnlyTheNamedOneIsTakenOut) {
  EXPECT_EQ(without("EBB=x", {"EBB"}), "|");
  EXPECT_EQ(without("a=1; EBB=x; b=2", {"EBB"}), "|a=1; b=2");
  EXPECT_EQ(without("EBB=x; a=1; EBB=y", {"EBB"}), "|a=1");
  EXPECT_EQ(without("a=1;EBB=x;b=\"2 3\"; lonely", {"EBB"}), "|a=1; b=\"2 3\"; lonely");
}

TEST(Cookie, SeveralAreTakenOutAtOnce) {
  EXPECT_EQ(without("A=1; x=2; B=3; y=4", {"A", "B"}), "|x=2; y=4");
  EXPECT_EQ(without("x=2", {"A", "B"}), "none|");
  EXPECT_EQ(without("x=2", {}), "none|");
}

TEST(Cookie, NamesAreComparedWholeAndWithTheirCase) {
  EXPECT_EQ(without("ebb=x; EBBS=y; XEBB=z; EBB", {"EBB"}), "none|");
}

TEST(Cookie, SetCookieIsForTheWholeHostAndNotForScripts) {
  EXPECT_EQ(written({.name = "EBB", .value = "abc"}), "EBB=abc; Path=/; HttpOnly; SameSite=Lax");
  EXPECT_EQ(written({.name = "EBB",
                     .value = "abc",
                     .secure = true,
                     .same_site = SameSite::strict,
                     .max_age = std::chrono::hours{1}}),
            "EBB=abc; Path=/; HttpOnly; Secure; SameSite=Strict; Max-Age=3600");
}

TEST(Cookie, SameSiteNoneIsWrittenOnlyWithSecure) {
  EXPECT_EQ(written({.name = "E", .value = "v", .secure = true, .same_site = SameSite::none}),
            "E=v; Path=/; HttpOnly; Secure; SameSite=None");
  EXPECT_EQ(written({.name = "E", .value = "v", .same_site = SameSite::none}), "E=v; Path=/; HttpOnly");
}

}  // namespace
}  // namespace ebb::wire
