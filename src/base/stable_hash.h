// FNV-1a: the same in all snapshots, processes and replicas, which std::hash does not promise.
#pragma once

#include <cstdint>
#include <string_view>

namespace ebb::base {

class StableHash {
 public:
  constexpr StableHash& add(std::string_view text) {
    for (const char c : text) add_byte(static_cast<unsigned char>(c));
    add_byte(0);  // separates "ab","c" from "a","bc"
    return *this;
  }
  constexpr std::uint64_t value() const { return value_; }

 private:
  constexpr void add_byte(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3u; }
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

}  // namespace ebb::base
