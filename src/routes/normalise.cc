#include "routes/normalise.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace ebb::routes {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

// `text` is the part between the brackets. Two spellings of one address must find the same route.
std::string_view canonical_ipv6(std::string_view text, HostBuffer& buffer) {
  char terminated[INET6_ADDRSTRLEN];
  if (text.size() >= sizeof(terminated)) return {};
  std::memcpy(terminated, text.data(), text.size());
  terminated[text.size()] = '\0';
  in6_addr address;
  if (inet_pton(AF_INET6, terminated, &address) != 1) return {};
  buffer[0] = '[';
  if (inet_ntop(AF_INET6, &address, buffer.data() + 1, INET6_ADDRSTRLEN) == nullptr) return {};
  const std::size_t length = std::strlen(buffer.data());
  buffer[length] = ']';
  return {buffer.data(), length + 1};
}

}  // namespace

std::string_view normalise_host(std::string_view authority, HostBuffer& buffer) {
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) return {};
    return canonical_ipv6(authority.substr(1, close - 1), buffer);
  }
  std::string_view host = authority.substr(0, authority.find(':'));
  if (host.ends_with('.')) host.remove_suffix(1);
  if (host.size() >= buffer.size()) return {};
  for (std::size_t i = 0; i < host.size(); ++i) buffer[i] = lower(host[i]);
  return {buffer.data(), host.size()};
}

std::string_view without_query(std::string_view target) { return target.substr(0, target.find_first_of("?#")); }

std::string_view query_of(std::string_view target) {
  const std::size_t mark = target.find_first_of("?#");
  if (mark == std::string_view::npos || target[mark] == '#') return {};
  const std::string_view query = target.substr(mark + 1);
  return query.substr(0, query.find('#'));
}

std::string_view normalise_prefix(std::string_view path) {
  if (path.ends_with('/')) path.remove_suffix(1);
  return path;
}

std::string lower_case(std::string_view text) {
  std::string lowered(text);
  std::ranges::transform(lowered, lowered.begin(), lower);
  return lowered;
}

bool equal_in_any_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace ebb::routes
