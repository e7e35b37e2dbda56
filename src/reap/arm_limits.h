// The time-outs to set on sockets of other programs, and which of them one socket gets. An option is set only if it has
// Linux' default: a program's own choice stays. Pure.
#pragma once

#include <cstdint>

#include "census/socket.h"

namespace ebb::reap {

struct ArmLimits {
  std::uint32_t user_timeout_ms = 8'000;
  std::uint32_t keepalive_idle_s = 4;
  std::uint32_t keepalive_interval_s = 1;
  std::uint32_t keepalive_probes = 4;
  std::uint32_t rto_max_ms = 1'000;  // the kernel's minimum
  friend bool operator==(const ArmLimits&, const ArmLimits&) = default;
};

// The value marks the user time-out of a stall as ours, not the program's.
constexpr std::uint32_t stall_timeout_ms(const ArmLimits& limits) { return limits.user_timeout_ms + 1; }

// Linux' defaults, which getsockopt returns for unset options. In a namespace with other sysctls every program seems to
// have chosen them; the administrator has.
inline constexpr std::uint32_t default_keepalive_idle_s = 7200;
inline constexpr std::uint32_t default_keepalive_interval_s = 75;
inline constexpr std::uint32_t default_keepalive_probes = 9;
inline constexpr std::uint32_t default_rto_max_ms = 120'000;

struct ArmPlan {
  bool keepalive = false;     // on, with our times
  bool user_timeout = false;  // permanently
  bool rto_max = false;
  // With TCP_USER_TIMEOUT the kernel ends an idle connection at the first unanswered probe after that time
  // (tcp_keepalive_timer), however many probes the program configured. A program with its own keepalive times therefore
  // has the limit only while data is unacknowledged.
  bool user_timeout_in_stalls = false;

  bool nothing() const { return !keepalive && !user_timeout && !rto_max && !user_timeout_in_stalls; }
  friend bool operator==(const ArmPlan&, const ArmPlan&) = default;
};

// `rto_max_ms` of the options is 0 if the kernel does not support it.
constexpr ArmPlan plan_arms(const census::Options& options) {
  const bool own_times = options.keepalive_idle_s != default_keepalive_idle_s ||
                         options.keepalive_interval_s != default_keepalive_interval_s ||
                         options.keepalive_probes != default_keepalive_probes;
  const bool own_timeout = options.user_timeout_ms != 0;
  return {.keepalive = !own_times,
          .user_timeout = !own_timeout && !own_times,
          .rto_max = options.rto_max_ms == default_rto_max_ms,
          .user_timeout_in_stalls = !own_timeout && own_times};
}

// What a look changes for a socket that is limited only in stalls.
enum class StallChange : std::uint8_t { none, limit, lift };
constexpr StallChange stall_change(const census::Socket& socket, bool limited) {
  const bool stalled = socket.timer == census::Timer::retransmit && socket.timer_count > 0;
  if (stalled == limited) return StallChange::none;
  return stalled ? StallChange::limit : StallChange::lift;
}

}  // namespace ebb::reap
