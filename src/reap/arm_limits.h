// The limits that sockets of other programs are given, and which of them one socket gets: an option is set only where
// it still has Linux' default, since a program's own choice is not ours to change. Pure.
#pragma once

#include <cstdint>

#include "census/socket.h"

namespace ebb::reap {

struct ArmLimits {
  std::uint32_t user_timeout_ms = 8'000;
  std::uint32_t keepalive_idle_s = 4;
  std::uint32_t keepalive_interval_s = 1;
  std::uint32_t keepalive_probes = 4;
  std::uint32_t rto_max_ms = 1'000;  // the least that the kernel takes
  friend bool operator==(const ArmLimits&, const ArmLimits&) = default;
};

// The user time-out of a stall is told apart from a program's own by its value.
constexpr std::uint32_t stall_timeout_ms(const ArmLimits& limits) { return limits.user_timeout_ms + 1; }

// Linux' defaults, told by getsockopt for what a program has not set. A namespace with other sysctls looks as if every
// program in it had chosen them, and somebody has.
inline constexpr std::uint32_t default_keepalive_idle_s = 7200;
inline constexpr std::uint32_t default_keepalive_interval_s = 75;
inline constexpr std::uint32_t default_keepalive_probes = 9;
inline constexpr std::uint32_t default_rto_max_ms = 120'000;

struct ArmPlan {
  bool keepalive = false;     // on, with our times
  bool user_timeout = false;  // for good
  bool rto_max = false;
  // With TCP_USER_TIMEOUT the kernel ends an idle connection at the first unanswered probe that is later than it
  // (tcp_keepalive_timer), however many probes the program had asked for. So a program with keepalive times of its own
  // has the limit only while data is unacknowledged.
  bool user_timeout_in_stalls = false;

  bool nothing() const { return !keepalive && !user_timeout && !rto_max && !user_timeout_in_stalls; }
  friend bool operator==(const ArmPlan&, const ArmPlan&) = default;
};

// `rto_max_ms` of the options is 0 where the kernel does not know it.
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

// What a look means for a socket that is limited in stalls only.
enum class StallChange : std::uint8_t { none, limit, lift };
constexpr StallChange stall_change(const census::Socket& socket, bool limited) {
  const bool stalled = socket.timer == census::Timer::retransmit && socket.timer_count > 0;
  if (stalled == limited) return StallChange::none;
  return stalled ? StallChange::limit : StallChange::lift;
}

}  // namespace ebb::reap
