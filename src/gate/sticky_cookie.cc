#include "gate/sticky_cookie.h"

namespace ebb::gate {

namespace {

wire::SameSite same_site_of(routes::CookieSameSite same_site) {
  switch (same_site) {
    case routes::CookieSameSite::lax: return wire::SameSite::lax;
    case routes::CookieSameSite::strict: return wire::SameSite::strict;
    case routes::CookieSameSite::none: return wire::SameSite::none;
  }
  return wire::SameSite::lax;
}

bool is_secure(routes::CookieSecure secure, bool over_tls) {
  return secure == routes::CookieSecure::always || (secure == routes::CookieSecure::automatic && over_tls);
}

}  // namespace

wire::OpaqueToken sticky_token(std::uint64_t endpoint_identity) {
  return wire::opaque_token("ebbgate sticky", endpoint_identity);
}

void hide_cookies(wire::Fields& fields, std::span<const std::string_view> names, std::string& text) {
  std::size_t size = 0;
  for (const wire::Field& field : fields.all()) size += is_cookie_field(field) ? field.value.size() : 0;
  text.clear();
  text.reserve(2 * size);  // never moves: at worst each `;` becomes `; `
  for (wire::Field& field : fields.all()) {
    const std::size_t begin = text.size();
    if (!is_cookie_field(field) || !wire::without_cookies(field.value, names, text)) continue;
    field.value = std::string_view(text).substr(begin);
    field.hop = field.value.empty();
  }
}

std::string set_cookie(const routes::StickyModel& sticky, const wire::OpaqueToken& token, bool over_tls) {
  std::string text;
  wire::write_set_cookie({.name = sticky.cookie,
                          .value = token.view(),
                          .secure = is_secure(sticky.secure, over_tls),
                          .same_site = same_site_of(sticky.same_site),
                          .max_age = std::chrono::duration_cast<std::chrono::seconds>(sticky.max_age)},
                         text);
  return text;
}

}  // namespace ebb::gate
