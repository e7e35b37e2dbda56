// When the kernel gives a connection up if nothing comes from the peer any more, from now on. Pure: the arithmetic of
// net/ipv4/tcp_timer.c on the facts of one socket.
#pragma once

#include <cstdint>
#include <optional>

#include "census/limits.h"
#include "census/socket.h"

namespace ebb::census {

enum class Ending : std::uint8_t {
  never,            // nothing is outstanding, and nobody asks
  retransmissions,  // the time that tcp_retries2 stands for
  user_timeout,     // TCP_USER_TIMEOUT
  keepalive,        // probes without an answer
  zero_window,      // probes of a closed window without an answer
  handshake,        // nobody answers the SYN, or the SYN-ACK
  time_wait,        // the kernel only keeps the ports
};

struct GiveUp {
  Ending ending = Ending::never;
  std::optional<std::int64_t> in_ms;  // none: never
  bool assumed = false;               // options of the socket could not be read
};

GiveUp give_up(const Socket& socket, const Limits& limits);

// The time that `boundary` retransmissions stand for (tcp_model_timeout): every one doubles the time to the next, from
// `base_ms` up to `rto_max_ms`. It is a time and not a count: fewer or more may fit into it.
std::int64_t model_ms(std::uint32_t boundary, std::int64_t base_ms, std::int64_t rto_max_ms);

// When a timer of `ms` fires on average: the wheel of the kernel (kernel/time/timer.c) knows long times only coarsely,
// and rounds up.
std::int64_t fires_after_ms(std::int64_t ms);

// How long unacknowledged data is retried, from its first retransmission on.
std::int64_t retry_budget_ms(const Socket& socket, const Limits& limits);

// For how long a socket that retransmits, or probes by keepalive, has been without an answer.
std::int64_t stalled_ms(const Socket& socket, const Limits& limits);

}  // namespace ebb::census
