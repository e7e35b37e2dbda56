#include "wire/cookie.h"

#include <algorithm>

namespace ebb::wire {

namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view white = " \t";
  const std::size_t first = text.find_first_not_of(white);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(white) - first + 1);
}

std::string_view unquoted(std::string_view text) {
  const bool quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return quoted ? text.substr(1, text.size() - 2) : text;
}

}  // namespace

bool take_cookie(std::string_view& rest, CookiePair& pair) {
  while (!rest.empty()) {
    const std::size_t end = rest.find(';');
    pair.text = trimmed(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (pair.text.empty()) continue;
    const std::size_t equals = pair.text.find('=');
    const bool named = equals != std::string_view::npos;
    pair.name = named ? trimmed(pair.text.substr(0, equals)) : std::string_view();
    pair.value = unquoted(named ? trimmed(pair.text.substr(equals + 1)) : pair.text);
    return true;
  }
  return false;
}

bool without_cookies(std::string_view field, std::span<const std::string_view> names, std::string& out) {
  const std::size_t begin = out.size();
  bool found = false;
  CookiePair pair;
  while (take_cookie(field, pair)) {
    if (std::ranges::find(names, pair.name) != names.end()) {
      found = true;
      continue;
    }
    if (out.size() > begin) out += "; ";
    out += pair.text;
  }
  if (!found) out.resize(begin);
  return found;
}

void write_set_cookie(const SetCookie& cookie, std::string& out) {
  out.append(cookie.name).append("=").append(cookie.value).append("; Path=/; HttpOnly");
  if (cookie.secure) out += "; Secure";
  switch (cookie.same_site) {
    case SameSite::lax: out += "; SameSite=Lax"; break;
    case SameSite::strict: out += "; SameSite=Strict"; break;
    case SameSite::none:
      if (cookie.secure) out += "; SameSite=None";
      break;
  }
  if (cookie.max_age.count() > 0) out.append("; Max-Age=").append(std::to_string(cookie.max_age.count()));
}

}  // namespace ebb::wire
