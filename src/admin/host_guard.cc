#include "admin/host_guard.h"

#include <algorithm>
#include <string>

#include "wire/h1_head.h"

namespace ebb::admin {
namespace {

// Strips the port; the colons of an IPv6 address are inside its brackets.
std::string_view host_of(std::string_view authority) {
  const std::size_t bracket = authority.rfind(']');
  const std::size_t colon = authority.rfind(':');
  if (colon == std::string_view::npos || (bracket != std::string_view::npos && colon < bracket)) return authority;
  return authority.substr(0, colon);
}

}  // namespace

bool means_this_machine(std::string_view authority, const base::Address& listening) {
  if (authority.empty()) return true;
  std::string_view host = host_of(authority);
  const auto literal = base::Address::parse(std::string(host) + ":0");
  if (literal) return literal->is_loopback() || literal->host_text() == listening.host_text();
  if (host.ends_with('.')) host.remove_suffix(1);
  // RFC 6761 6.3: localhost and names below it are never sent to a DNS server.
  constexpr std::string_view suffix = ".localhost";
  if (host.size() > suffix.size()) host = host.substr(host.size() - suffix.size());
  return wire::equals_ignoring_case(host, "localhost") || wire::equals_ignoring_case(host, suffix);
}

}  // namespace ebb::admin
