// The connections that programs of this machine have opened: those whose local port is not listened on.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "census/sample.h"

namespace ebb::reap {

class Outgoing {
 public:
  explicit Outgoing(const census::Sample& sample) {
    for (const census::Socket& socket : sample.sockets) {
      if (socket.state == census::State::listen) served_.insert(key(socket));
    }
  }
  bool contains(const census::Socket& socket) const { return !served_.contains(key(socket)); }

 private:
  static std::uint64_t key(const census::Socket& socket) {
    return std::uint64_t{socket.space} << 16 | socket.local.port();
  }
  std::unordered_set<std::uint64_t> served_;  // namespace and port
};

}  // namespace ebb::reap
