// Reads netlink messages and attributes inside a buffer that the caller owns. Does no I/O. Strict: after a wrong length
// the rest is unreadable, and the reader reports that.
#pragma once

#include <linux/netlink.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

namespace ebb::census {

using Bytes = std::span<const std::byte>;

// The bytes as a T; empty if there are too few. Extra bytes are fine: kernel structures grow at their end.
template <class T>
  requires std::is_trivially_copyable_v<T>
std::optional<T> read_as(Bytes bytes) {
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

struct Message {
  std::uint16_t type = 0;
  std::uint16_t flags = 0;
  std::uint32_t sequence = 0;
  Bytes body;
};

class Messages {
 public:
  explicit Messages(Bytes bytes) : rest_(bytes) {}
  // Empty at the end, and after invalid bytes: malformed() distinguishes the two.
  std::optional<Message> next();
  bool malformed() const { return malformed_; }

 private:
  Bytes rest_;
  bool malformed_ = false;
};

struct Attribute {
  std::uint16_t type = 0;  // without the flags for nesting and byte order
  Bytes value;
};

class Attributes {
 public:
  explicit Attributes(Bytes bytes) : rest_(bytes) {}
  std::optional<Attribute> next();
  bool malformed() const { return malformed_; }

 private:
  Bytes rest_;
  bool malformed_ = false;
};

}  // namespace ebb::census
