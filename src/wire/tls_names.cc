#include "wire/tls_names.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace ebb::wire {

namespace {

// The bytes of an address in text form; "" if the text is not an address.
std::string_view octets_of(std::string_view host, std::array<char, sizeof(in6_addr)>& room) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (host.size() >= text.size() || host.contains('\0')) return {};
  std::memcpy(text.data(), host.data(), host.size());
  if (inet_pton(AF_INET, text.data(), room.data()) == 1) return {room.data(), sizeof(in_addr)};
  if (inet_pton(AF_INET6, text.data(), room.data()) == 1) return {room.data(), sizeof(in6_addr)};
  return {};
}

// No top-level domain ends with a digit, so names skip the conversion.
bool may_be_address(std::string_view host) { return host.contains(':') || (host.back() >= '0' && host.back() <= '9'); }

}  // namespace

CoveredNames::CoveredNames(const std::vector<const Certificate*>& certificates) {
  const auto in_all = [&](const std::string& entry, std::vector<std::string> Certificate::* list) {
    return std::ranges::all_of(certificates, [&](const Certificate* other) {
      return std::ranges::find(other->*list, entry) != (other->*list).end();
    });
  };
  const Certificate& first = *certificates.front();
  for (const std::string& name : first.names) {
    if (in_all(name, &Certificate::names)) names_.insert(name.starts_with("*.") ? name.substr(1) : name);
  }
  for (const std::string& address : first.addresses) {
    if (in_all(address, &Certificate::addresses)) addresses_.push_back(address);
  }
}

bool CoveredNames::cover(std::string_view host) const {
  if (host.empty()) return false;
  std::array<char, sizeof(in6_addr)> room;
  if (may_be_address(host)) {
    const std::string_view octets = octets_of(host, room);
    if (!octets.empty()) return std::ranges::find(addresses_, octets) != addresses_.end();
  }
  const std::size_t dot = host.find('.');
  if (dot == 0) return false;  // would be taken for a wildcard
  if (names_.contains(host)) return true;
  return dot != std::string_view::npos && names_.contains(host.substr(dot));
}

}  // namespace ebb::wire
