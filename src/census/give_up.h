// Predicts when the kernel gives up a connection if the peer sends nothing from now on. Pure: the arithmetic of
// net/ipv4/tcp_timer.c on the facts of one socket.
#pragma once

#include <cstdint>
#include <optional>

#include "census/limits.h"
#include "census/socket.h"

namespace ebb::census {

enum class Ending : std::uint8_t {
  never,            // nothing is outstanding, and no probes run
  retransmissions,  // the time that follows from tcp_retries2
  user_timeout,     // TCP_USER_TIMEOUT
  keepalive,        // unanswered probes
  zero_window,      // unanswered probes of a closed window
  handshake,        // unanswered SYN or SYN-ACK
  time_wait,        // the kernel only keeps the ports
};

struct GiveUp {
  Ending ending = Ending::never;
  std::optional<std::int64_t> in_ms;  // empty: never
  bool assumed = false;               // the socket's options are unknown
};

GiveUp give_up(const Socket& socket, const Limits& limits);

// The time for `boundary` retransmissions (tcp_model_timeout): the interval doubles from `base_ms` up to `rto_max_ms`.
// The kernel limits this time, not the count: fewer or more retransmissions may fit.
std::int64_t model_ms(std::uint32_t boundary, std::int64_t base_ms, std::int64_t rto_max_ms);

// When a timer of `ms` fires on average: the kernel's wheel (kernel/time/timer.c) is coarse for long times, and rounds
// up.
std::int64_t fires_after_ms(std::int64_t ms);

// How long unacknowledged data is retried, counted from its first retransmission.
std::int64_t retry_budget_ms(const Socket& socket, const Limits& limits);

// How long a socket that retransmits, or sends keepalive probes, has had no answer.
std::int64_t stalled_ms(const Socket& socket, const Limits& limits);

}  // namespace ebb::census
