// The evidence of all sockets to a host: silence on one may be that socket's fault, silence on all is the host's.
#pragma once

#include <unordered_map>

#include "census/sample.h"

namespace ebb::census {

// A single socket proves nothing; this many unanswered time-outs on each of several sockets do.
inline constexpr std::uint32_t witnesses_min = 2;
inline constexpr std::uint32_t witness_time_outs = 3;
inline constexpr std::uint32_t witness_probes = 2;

class Hosts {
 public:
  explicit Hosts(const Sample& sample);
  bool silent(const Socket& socket) const;

 private:
  struct Host {
    std::uint32_t witnesses = 0;
    std::int64_t shortest_stall_ms = 0;  // of the witnesses
    std::int64_t last_answer_ms = 0;     // ms since the last answer on any socket
    bool seen = false;
  };
  struct Hash {
    std::size_t operator()(const base::Address& address) const { return address.hash(); }
  };
  std::unordered_map<base::Address, Host, Hash> hosts_;  // port 0
};

}  // namespace ebb::census
