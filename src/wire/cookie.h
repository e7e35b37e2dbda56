// Cookies (RFC 6265): read or remove a client's cookie, write the router's own. Reading accepts what browsers and
// libraries send; writing is strict.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ebb::wire {

struct CookiePair {
  std::string_view text;   // as sent, without surrounding white space
  std::string_view name;   // "" of a pair without `=`
  std::string_view value;  // without surrounding white space and quotes
};

// Takes the next pair off the front of a Cookie field's value and skips empty pairs. False if there is none. Quotes do
// not protect a semicolon (RFC 6265 section 5.2): browsers ignore quotes too.
bool take_cookie(std::string_view& rest, CookiePair& pair);

// Appends all pairs but those with these names, joined as in section 4.2.1. False, without appending, if no pair has
// such a name.
bool without_cookies(std::string_view field, std::span<const std::string_view> names, std::string& out);

enum class SameSite : std::uint8_t { lax, strict, none };

struct SetCookie {
  std::string_view name;
  std::string_view value;
  bool secure = false;
  SameSite same_site = SameSite::lax;
  std::chrono::seconds max_age{};  // 0: until the browser closes
};

// The value of a Set-Cookie field, for all paths of the host and hidden from scripts. `SameSite=None` is written only
// with `Secure`: browsers reject it otherwise.
void write_set_cookie(const SetCookie& cookie, std::string& out);

}  // namespace ebb::wire
