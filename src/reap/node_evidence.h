// What all sockets to one node say together, at one look: silence on one may be its program's fault, silence on all of
// them is the node's, or the way's. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "census/sample.h"

namespace ebb::reap {

inline constexpr std::uint32_t stalled_sockets_min = 2;
inline constexpr std::uint32_t stalled_time_outs = 2;  // 0.9 s after the write in a local network

struct NodeEvidence {
  std::string node;
  std::uint32_t sockets = 0;
  std::uint32_t stalled = 0;           // of those that this machine has opened
  std::int64_t shortest_stall_ms = 0;  // of them
  std::int64_t last_answer_ms = 0;     // ago, on any socket
  // The far end of a stalled one, which is served there, and the namespace from which it is reached.
  base::Address witness;
  std::string space;  // its name

  bool is_silent() const { return stalled >= stalled_sockets_min && last_answer_ms >= shortest_stall_ms; }
};

// The name of the node at an address; "": it is not known, and the address stands for it.
using NodeOf = std::function<std::string(const base::Address& host)>;

std::vector<NodeEvidence> gather_evidence(const census::Sample& sample, const NodeOf& node_of);

}  // namespace ebb::reap
