// A TCP socket as the kernel describes it: facts without a verdict. 100,000 sockets must fit into memory, so it holds
// numbers; the Sample holds the names of processes and namespaces.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/address.h"

namespace ebb::census {

enum class State : std::uint8_t {  // the kernel's numbers (net/tcp_states.h)
  unknown,
  established,
  syn_sent,
  syn_recv,
  fin_wait1,
  fin_wait2,
  time_wait,
  closed,
  close_wait,
  last_ack,
  listen,
  closing,
  new_syn_recv,
};
inline constexpr std::array<std::string_view, 13> state_names = {
    "UNKNOWN", "ESTAB",      "SYN-SENT", "SYN-RECV", "FIN-WAIT-1", "FIN-WAIT-2", "TIME-WAIT",
    "CLOSED",  "CLOSE-WAIT", "LAST-ACK", "LISTEN",   "CLOSING",    "SYN-RECV"};
constexpr std::string_view name(State state) { return state_names[static_cast<std::size_t>(state)]; }

enum class Timer : std::uint8_t { none, retransmit, keepalive, time_wait, persist };  // idiag_timer
inline constexpr std::array<std::string_view, 5> timer_names = {"off", "on", "keepalive", "timewait", "persist"};
constexpr std::string_view name(Timer timer) { return timer_names[static_cast<std::size_t>(timer)]; }

// Options that a program may have set. The kernel reports them only to a holder of the socket.
struct Options {
  bool known = false;
  bool keepalive = false;
  std::uint32_t keepalive_idle_s = 0;
  std::uint32_t keepalive_interval_s = 0;
  std::uint8_t keepalive_probes = 0;  // 127 at most, as syn_retries
  std::uint32_t user_timeout_ms = 0;  // 0: not set
  std::uint32_t rto_max_ms = 0;
  std::uint8_t syn_retries = 0;
};

inline constexpr std::uint32_t no_index = ~std::uint32_t{0};

// Counts have one byte, as in the kernel (inet_diag_msg, tcp_info): this bounds loops over retries, even if the facts
// come from a forged recording.
struct Socket {
  std::uint64_t cookie = 0;  // the kernel's id of this socket: never reused
  base::Address local;
  base::Address peer;
  base::Address real_peer;  // behind address translation; invalid: none known
  State state = State::unknown;
  Timer timer = Timer::none;
  std::uint32_t timer_ms = 0;    // time left
  std::uint8_t timer_count = 0;  // retransmissions, or unanswered probes
  std::uint32_t receive_queue = 0;
  std::uint32_t send_queue = 0;
  std::uint32_t uid = 0;
  std::uint32_t inode = 0;  // 0: held by no program
  std::uint32_t mark = 0;
  std::uint32_t interface = 0;
  std::uint64_t memory = 0;  // bytes of buffers
  std::uint64_t cgroup = 0;

  // TCP_INFO. Missing for TIME-WAIT and for connections that are not accepted yet.
  bool has_info = false;
  std::uint8_t retransmits = 0;  // time-outs since the last progress
  std::uint8_t probes = 0;
  std::uint8_t backoff = 0;
  std::uint32_t rto_us = 0;
  std::uint32_t rtt_us = 0;
  std::uint32_t rtt_variance_us = 0;
  std::uint32_t unacknowledged = 0;  // segments
  std::uint32_t not_sent = 0;        // bytes
  std::uint32_t last_sent_ms = 0;    // ms ago, as all three; counts from the start if none was sent
  std::uint32_t last_received_ms = 0;
  std::uint32_t last_acknowledged_ms = 0;
  std::uint32_t segments_sent = 0;  // with data
  std::uint32_t segments_received = 0;
  std::uint64_t bytes_acknowledged = 0;
  std::uint64_t bytes_received = 0;
  std::uint32_t stalls = 0;      // times that the retransmission timer fired after progress (Linux 6.7)
  std::uint32_t stalled_ms = 0;  // over all stalls, including the present one

  Options options;
  std::uint32_t fd = 0;
  std::uint32_t process = no_index;  // in Sample::processes
  std::uint32_t space = 0;           // in Sample::spaces

  // Without a program: not yet accepted, or no longer held. The state distinguishes the two.
  bool unaccepted() const { return inode == 0 && (state == State::established || state == State::close_wait); }
  bool abandoned() const {
    return inode == 0 && (state == State::fin_wait1 || state == State::fin_wait2 || state == State::closing ||
                          state == State::last_ack);
  }
  // The real destination of its packets.
  const base::Address& far_end() const { return real_peer.valid() ? real_peer : peer; }
};

}  // namespace ebb::census
