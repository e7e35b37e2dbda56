#include "routes/spelling.h"

#include <algorithm>
#include <charconv>

#include "routes/normalise.h"

namespace ebb::routes {

namespace {

constexpr std::size_t path_length_max = 4096;
constexpr std::size_t value_length_max = 4096;

bool is_label(std::string_view label) {
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; };
  return !label.empty() && label.size() <= 63 && label.front() != '-' && label.back() != '-' &&
         std::ranges::all_of(label, allowed);
}

// RFC 3986 sections 3.3 and 3.4.
bool is_target_character(char c) {
  return c > ' ' && c <= '~' && std::string_view("#\"\\<>^`{|}").find(c) == std::string_view::npos;
}

bool is_port(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size() && port > 0 && port <= 65535;
}

}  // namespace

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= name_length_max &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~' && c != '"' && c != '\\'; });
}

bool is_any_host(std::string_view text) { return text.empty() || text == "*"; }

bool is_host(std::string_view text) {
  HostBuffer buffer;
  const std::string_view host = normalise_host(text, buffer);
  if (host.empty() || host.size() > name_length_max) return false;
  if (text.starts_with('[')) return text.ends_with(']');
  if (text.find(':') != std::string_view::npos) return false;
  for (std::size_t begin = 0; begin <= host.size();) {
    const std::size_t end = std::min(host.find('.', begin), host.size());
    if (!is_label(host.substr(begin, end - begin))) return false;
    begin = end + 1;
  }
  return true;
}

bool is_host_pattern(std::string_view text) {
  if (!text.starts_with("*.")) return is_host(text);
  const std::string_view domain = text.substr(2);
  return is_host(domain) && !domain.starts_with('[');
}

bool is_path(std::string_view text) {
  return text.starts_with('/') && text.size() <= path_length_max && text.find("//") == std::string_view::npos &&
         text.find('?') == std::string_view::npos && std::ranges::all_of(text, is_target_character);
}

bool is_target(std::string_view text) {
  return text.size() <= path_length_max && is_path(text.substr(0, text.find('?'))) &&
         std::ranges::all_of(text, is_target_character);
}

bool is_token(std::string_view text) {
  return !text.empty() && text.size() <= name_length_max && std::ranges::all_of(text, [](char c) {
    const bool alphanumeric = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return alphanumeric || (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
  });
}

bool is_field_value(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  if (text.size() > value_length_max) return false;
  if (!text.empty() && (blank(text.front()) || blank(text.back()))) return false;
  return std::ranges::all_of(text, [](char c) {
    const auto octet = static_cast<unsigned char>(c);
    return (octet >= ' ' && octet != 127) || c == '\t';
  });
}

bool is_origin_pattern(std::string_view text) {
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (!text.starts_with(scheme)) continue;
    const std::string_view rest = text.substr(scheme.size());
    const std::size_t colon = rest.starts_with('[') ? rest.find(':', rest.find(']')) : rest.find(':');
    if (colon != std::string_view::npos && !is_port(rest.substr(colon + 1))) return false;
    const std::string_view host = rest.substr(0, colon);
    return is_host_pattern(host) && lower_case(host) == host;
  }
  return false;
}

bool is_media_range(std::string_view text) {
  const std::size_t slash = text.find('/');
  return slash != std::string_view::npos && is_token(text.substr(0, slash)) && is_token(text.substr(slash + 1));
}

}  // namespace ebb::routes
