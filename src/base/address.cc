#include "base/address.h"

#include <arpa/inet.h>

#include <charconv>
#include <cstring>

namespace ebb::base {

std::optional<Address> Address::parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view port_text = text.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
  if (error != std::errc{} || end != port_text.data() + port_text.size()) return std::nullopt;

  std::string_view host = text.substr(0, colon);
  Address address;
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    const std::string inner(host.substr(1, host.size() - 2));
    address.storage_.v6.sin6_family = AF_INET6;
    if (inet_pton(AF_INET6, inner.c_str(), &address.storage_.v6.sin6_addr) != 1) return std::nullopt;
  } else {
    const std::string inner(host);
    address.storage_.v4.sin_family = AF_INET;
    if (inet_pton(AF_INET, inner.c_str(), &address.storage_.v4.sin_addr) != 1) return std::nullopt;
  }
  address.set_port(port);
  return address;
}

Address Address::from(const sockaddr* raw) {
  Address address;
  if (raw->sa_family == AF_INET) std::memcpy(&address.storage_.v4, raw, sizeof(sockaddr_in));
  if (raw->sa_family == AF_INET6) std::memcpy(&address.storage_.v6, raw, sizeof(sockaddr_in6));
  return address;
}

std::uint16_t Address::port() const {
  return ntohs(family() == AF_INET6 ? storage_.v6.sin6_port : storage_.v4.sin_port);
}

void Address::set_port(std::uint16_t port) {
  if (family() == AF_INET6) {
    storage_.v6.sin6_port = htons(port);
  } else {
    storage_.v4.sin_port = htons(port);
  }
}

bool Address::is_loopback() const {
  if (family() == AF_INET6) return IN6_IS_ADDR_LOOPBACK(&storage_.v6.sin6_addr);
  return (ntohl(storage_.v4.sin_addr.s_addr) >> 24) == 127;
}

// By hand: every request needs this, and inet_ntop formats IPv4 through printf.
std::size_t Address::write_host(char* buffer) const {
  if (family() == AF_INET6) {
    if (inet_ntop(AF_INET6, &storage_.v6.sin6_addr, buffer, INET6_ADDRSTRLEN) == nullptr) return 0;
    return std::strlen(buffer);
  }
  if (!valid()) return 0;
  const std::uint32_t bits = ntohl(storage_.v4.sin_addr.s_addr);
  char* at = buffer;
  for (int shift = 24; shift >= 0; shift -= 8) {
    at = std::to_chars(at, at + 3, (bits >> shift) & 0xff).ptr;
    *at++ = '.';
  }
  return static_cast<std::size_t>(at - buffer) - 1;
}

std::string Address::host_text() const {
  char buffer[INET6_ADDRSTRLEN];
  return std::string(buffer, write_host(buffer));
}

std::string Address::text() const {
  if (!valid()) return "none";
  const std::string port_text = std::to_string(port());
  return family() == AF_INET6 ? "[" + host_text() + "]:" + port_text : host_text() + ":" + port_text;
}

bool operator==(const Address& a, const Address& b) {
  if (a.family() != b.family() || a.port() != b.port()) return false;
  if (a.family() == AF_INET6) {
    return std::memcmp(&a.storage_.v6.sin6_addr, &b.storage_.v6.sin6_addr, sizeof(in6_addr)) == 0 &&
           a.storage_.v6.sin6_scope_id == b.storage_.v6.sin6_scope_id;
  }
  return a.storage_.v4.sin_addr.s_addr == b.storage_.v4.sin_addr.s_addr;
}

std::size_t Address::hash() const {
  std::uint64_t value = family();
  auto mix = [&value](std::uint64_t part) {
    value ^= part;
    value *= 0x9e3779b97f4a7c15u;
    value ^= value >> 32;
  };
  mix(port());
  if (family() == AF_INET6) {
    std::uint64_t halves[2];
    std::memcpy(halves, &storage_.v6.sin6_addr, sizeof(halves));
    mix(halves[0]);
    mix(halves[1]);
  } else {
    mix(storage_.v4.sin_addr.s_addr);
  }
  return value;
}

}  // namespace ebb::base
