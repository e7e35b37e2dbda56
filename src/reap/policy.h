// The sockets that an operator allows the reaper to end, and why. By default everything is off and nothing is allowed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/clock.h"
#include "reap/arm_limits.h"

namespace ebb::reap {

struct Label {
  std::string name;
  std::string value;
  friend bool operator==(const Label&, const Label&) = default;
};

// Sockets that may be touched: for each given kind of condition, at least one must match. Words are patterns with `*`
// and `?`.
struct AllowRow {
  std::vector<std::string> netns;
  std::vector<std::string> process;
  std::vector<std::string> cgroup;
  std::vector<std::uint32_t> uid;
  std::vector<std::uint32_t> port;  // of the peer: the service's port or the real one
  std::vector<Label> labels;        // all must match

  bool empty() const {
    return netns.empty() && process.empty() && cgroup.empty() && uid.empty() && port.empty() && labels.empty();
  }
  friend bool operator==(const AllowRow&, const AllowRow&) = default;
};

struct Grounds {
  bool removed = true;                       // the list shows the endpoint as gone, or its grace is over
  std::optional<base::Duration> unanswered;  // retransmitted for this time without an acknowledgement
  std::optional<base::Duration> idle;        // no data either way for this time
  bool silent_nodes = false;                 // the peer's node is reported (suspicion.h)
  friend bool operator==(const Grounds&, const Grounds&) = default;
};

struct NodePolicy {
  bool watch = true;
  base::Duration every = std::chrono::milliseconds{500};
  friend bool operator==(const NodePolicy&, const NodePolicy&) = default;
};

struct Policy {
  bool act = false;            // false: only report what would be done
  std::uint32_t budget = 300;  // sockets per minute
  base::Duration every = std::chrono::seconds{5};
  std::string endpoints;  // file; "": none
  base::Address metrics;  // invalid: none
  Grounds end;
  NodePolicy nodes;
  std::optional<ArmLimits> arm;  // empty: sockets keep their programs' options
  std::vector<AllowRow> allow;
  friend bool operator==(const Policy&, const Policy&) = default;
};

}  // namespace ebb::reap
