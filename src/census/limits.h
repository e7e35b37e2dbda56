// The sysctls of one network namespace that decide when the kernel gives up a connection. Initial values are Linux'
// defaults. Counts have one byte, as in newer kernels, which bounds the loops over recorded data.
#pragma once

#include <cstdint>

namespace ebb::census {

struct Limits {
  std::uint8_t retries2 = 15;
  std::uint8_t orphan_retries = 0;
  std::uint8_t syn_retries = 6;
  std::uint8_t synack_retries = 5;
  std::uint8_t syn_linear_timeouts = 4;
  std::uint32_t rto_max_ms = 120'000;
  std::uint32_t keepalive_time_s = 7200;
  std::uint32_t keepalive_interval_s = 75;
  std::uint8_t keepalive_probes = 9;
  std::uint32_t fin_timeout_s = 60;
};

// Calls `visit(file name in /proc/sys/net/ipv4, value)` for each.
template <class Self, class Visit>
void each_limit(Self& limits, Visit&& visit) {
  visit("tcp_retries2", limits.retries2);
  visit("tcp_orphan_retries", limits.orphan_retries);
  visit("tcp_syn_retries", limits.syn_retries);
  visit("tcp_synack_retries", limits.synack_retries);
  visit("tcp_syn_linear_timeouts", limits.syn_linear_timeouts);
  visit("tcp_rto_max_ms", limits.rto_max_ms);
  visit("tcp_keepalive_time", limits.keepalive_time_s);
  visit("tcp_keepalive_intvl", limits.keepalive_interval_s);
  visit("tcp_keepalive_probes", limits.keepalive_probes);
  visit("tcp_fin_timeout", limits.fin_timeout_s);
}

}  // namespace ebb::census
