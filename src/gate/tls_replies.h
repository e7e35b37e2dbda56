// What TLS itself answers to the peer: a KeyUpdate that was asked for, a warning. A peer that asks on and on and reads
// nothing would fill our memory with the answers, so they are limited until it has read.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ebb::gate {

class TlsReplies {
 public:
  // `unsent`: before these bytes. False: too many waited already.
  bool within_limit(std::size_t bytes, std::size_t unsent) {
    if (unsent == 0) waiting_ = 0;
    const bool within = waiting_ <= limit;
    waiting_ += bytes;
    return within;
  }

 private:
  static constexpr std::size_t limit = std::size_t{32} << 10;
  std::size_t waiting_ = 0;
};

}  // namespace ebb::gate
