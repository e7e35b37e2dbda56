// An IPv4 or IPv6 address with a port.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ebb::base {

class Address {
 public:
  Address() = default;
  // "10.1.0.5:8080" or "[::1]:8080". Numbers only: the configuration resolves names.
  static std::optional<Address> parse(std::string_view text);
  static Address from(const sockaddr* address);

  bool valid() const { return family() != AF_UNSPEC; }
  int family() const { return storage_.v4.sin_family; }
  std::uint16_t port() const;
  void set_port(std::uint16_t port);
  bool is_loopback() const;
  const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t raw_size() const { return family() == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in); }

  std::string text() const;       // with port
  std::string host_text() const;  // without; no brackets
  // Writes host_text() into a buffer of at least 46 bytes; returns the length.
  std::size_t write_host(char* buffer) const;

  friend bool operator==(const Address& a, const Address& b);
  std::size_t hash() const;

 private:
  union {
    sockaddr_in6 v6;  // first, because `= {}` zeroes only the first member and scope ids are compared
    sockaddr_in v4;
  } storage_ = {};
};

}  // namespace ebb::base
