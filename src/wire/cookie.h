// Cookies as a router needs them: read one out of what a client sends, take it out, write one of our own (RFC 6265).
// Reading takes whatever browsers and libraries send; writing is strict.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ebb::wire {

struct CookiePair {
  std::string_view text;   // as it was sent, without white space around it
  std::string_view name;   // "" of a pair without `=`
  std::string_view value;  // without white space and without quotes around it
};

// Takes the next pair off the front of a Cookie field's value; empty ones are passed over. False: there is none. Quotes
// do not protect a semicolon (section 5.2 of RFC 6265): user agents do not treat them so either.
bool take_cookie(std::string_view& rest, CookiePair& pair);

// Appends all pairs but those of these names, joined as section 4.2.1 has it. False: there was none of them, and
// nothing is appended.
bool without_cookies(std::string_view field, std::span<const std::string_view> names, std::string& out);

enum class SameSite : std::uint8_t { lax, strict, none };

struct SetCookie {
  std::string_view name;
  std::string_view value;
  bool secure = false;
  SameSite same_site = SameSite::lax;
  std::chrono::seconds max_age{};  // 0: until the browser ends
};

// The value of a Set-Cookie field, for all paths of the host and hidden from scripts. `SameSite=None` is written only
// with `Secure`: browsers throw away a cookie that has the one without the other.
void write_set_cookie(const SetCookie& cookie, std::string& out);

}  // namespace ebb::wire
