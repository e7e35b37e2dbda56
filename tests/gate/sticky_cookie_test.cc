#include "gate/sticky_cookie.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace ebb::gate {
namespace {

using routes::CookieSameSite;
using routes::CookieSecure;
using routes::StickyModel;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view ours[] = {"EBB"};

wire::Fields fields_of(const std::vector<std::pair<std::string_view, std::string_view>>& pairs) {
  wire::Fields fields;
  for (const auto& [name, value] : pairs) fields.add({name, value});
  return fields;
}

std::vector<std::string> shown(const wire::Fields& fields) {
  std::vector<std::string> lines;
  for (const wire::Field& field : fields.all()) {
    if (!field.hop) lines.push_back(std::string(field.name) + ": " + std::string(field.value));
  }
  return lines;
}

TEST(StickyCookie, IsHiddenFromTheBackend) {
  wire::Fields fields = fields_of({{"Accept", "EBB=x"}, {"Cookie", "a=1; EBB=x; b=2"}});
  std::string text;
  hide_cookies(fields, ours, text);
  EXPECT_THAT(shown(fields), ElementsAre("Accept: EBB=x", "Cookie: a=1; b=2"));
}

TEST(StickyCookie, AFieldWithNothingElseIsLeftOut) {
  wire::Fields fields = fields_of({{"cookie", "EBB=x"}, {"Accept", "*/*"}});
  std::string text;
  hide_cookies(fields, ours, text);
  EXPECT_THAT(shown(fields), ElementsAre("Accept: */*"));
}

TEST(StickyCookie, OtherCookiesPassAsTheyCame) {
  wire::Fields fields = fields_of({{"Cookie", "a=1;b=2 ;;c"}});
  std::string text;
  hide_cookies(fields, ours, text);
  EXPECT_THAT(shown(fields), ElementsAre("Cookie: a=1;b=2 ;;c"));
}

TEST(StickyCookie, IsHiddenInEveryCookieField) {
  wire::Fields fields = fields_of({{"Cookie", "EBB=x;a;b;c;d"}, {"COOKIE", "e;EBB=y;f"}, {"Cookie", "EBB=z"}});
  std::string text;
  hide_cookies(fields, ours, text);
  EXPECT_THAT(shown(fields), ElementsAre("Cookie: a; b; c; d", "COOKIE: e; f"));
}

TEST(StickyCookie, AllValuesAreSeenInOrder) {
  const wire::Fields fields = fields_of({{"Cookie", "EBB=1; x=y; EBB=\"2\""}, {"Other", "EBB=3"}, {"cookie", "EBB=4"}});
  std::vector<std::string> seen;
  EXPECT_FALSE(any_cookie(fields, "EBB", [&](std::string_view value) {
    seen.emplace_back(value);
    return false;
  }));
  EXPECT_THAT(seen, ElementsAre("1", "2", "4"));
  EXPECT_TRUE(any_cookie(fields, "EBB", [](std::string_view value) { return value == "2"; }));
}

TEST(StickyCookie, IsSecureByItselfOverTlsOnly) {
  const wire::OpaqueToken token = sticky_token(1);
  const auto secure = [&](CookieSecure secure, bool over_tls) {
    return set_cookie({.cookie = "EBB", .secure = secure}, token, over_tls).contains("; Secure");
  };
  EXPECT_TRUE(secure(CookieSecure::automatic, true));
  EXPECT_FALSE(secure(CookieSecure::automatic, false));
  EXPECT_TRUE(secure(CookieSecure::always, false));
  EXPECT_FALSE(secure(CookieSecure::never, true));
}

TEST(StickyCookie, HasWhatTheBackendAsksFor) {
  const wire::OpaqueToken token = sticky_token(1);
  EXPECT_EQ(set_cookie({.cookie = "EBB"}, token, false),
            "EBB=" + std::string(token.view()) + "; Path=/; HttpOnly; SameSite=Lax");
  EXPECT_THAT(
      set_cookie({.cookie = "E", .same_site = CookieSameSite::none, .max_age = std::chrono::hours{2}}, token, true),
      HasSubstr("; Secure; SameSite=None; Max-Age=7200"));
}

TEST(StickyCookie, ShowsNothingOfTheEndpoint) {
  EXPECT_THAT(std::string(sticky_token(0x7f000001).view()), Not(HasSubstr("7f000001")));
  EXPECT_NE(sticky_token(1), sticky_token(2));
  EXPECT_EQ(sticky_token(3), sticky_token(3));
}

}  // namespace
}  // namespace ebb::gate
