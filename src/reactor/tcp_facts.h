// The kernel's facts about a TCP connection that no event reports: how much output the peer has acknowledged, and for
// how long it has not acknowledged the rest.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace ebb::reactor {

struct TcpFacts {
  std::uint64_t acknowledged = 0;    // bytes of our output that the peer's kernel has confirmed
  std::uint32_t unacknowledged = 0;  // segments that it has not
  std::uint32_t timeouts = 0;        // retransmission time-outs since the last progress; tail-loss probes do not count
  base::Duration silence{};          // since the last acknowledgement of any kind
  std::uint32_t probes = 0;          // keepalive or zero-window probes since then
  base::Duration timeout{};          // until the next retransmission, counted from the last (RTO)
};

}  // namespace ebb::reactor
