// The evidence of all sockets to a node, at one look. Silence on one may be its program's fault; silence on all is the
// fault of the node or the path. Pure.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "census/sample.h"

namespace ebb::reap {

inline constexpr std::uint32_t stalled_sockets_min = 2;
inline constexpr std::uint32_t stalled_time_outs = 2;  // 0.9 s after the write in a local network

// Of connections opened by this machine.
struct Stalls {
  std::uint32_t sockets = 0;
  std::int64_t shortest_ms = 0;

  void add(std::int64_t ms) {
    shortest_ms = sockets == 0 ? ms : std::min(shortest_ms, ms);
    ++sockets;
  }
};

struct NodeEvidence {
  std::string node;
  std::uint32_t sockets = 0;
  Stalls begun;                     // one time-out or more: an ordinary loss, or the start of a silence
  Stalls stalled;                   // stalled_time_outs or more
  std::int64_t last_answer_ms = 0;  // since then, on any socket
  std::int64_t round_trip_us = 0;   // the longest normal round trip, as the stalled connections measured it before
  // The served address of a stalled connection, and the namespace from which it is reached.
  base::Address witness;
  std::string space;  // its name

  bool is_silent() const { return all_are(stalled); }
  bool may_become_silent() const { return all_are(begun); }

 private:
  bool all_are(const Stalls& stalls) const {
    return stalls.sockets >= stalled_sockets_min && last_answer_ms >= stalls.shortest_ms;
  }
};

// The name of the node at an address; "" if unknown: then the address stands for it.
using NodeOf = std::function<std::string(const base::Address& host)>;

std::vector<NodeEvidence> gather_evidence(const census::Sample& sample, const NodeOf& node_of);

}  // namespace ebb::reap
