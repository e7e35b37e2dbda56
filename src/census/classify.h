// The class of a socket (users see it as its verdict), the reason, and the remedy. Pure: a table of rules over the
// facts of one socket and the evidence of all sockets about its peer. The first rule that holds decides.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "census/give_up.h"

namespace ebb::census {

enum class SocketClass : std::uint8_t {  // the worst first
  stale,
  half_open_suspect,
  orphan,
  leaking,
  unprotected,
  idle,
  active,
  closing,
  listening,
};
inline constexpr std::array<std::string_view, 9> socket_class_names = {
    "stale", "half-open suspect", "orphan", "leaking", "unprotected", "idle", "active", "closing", "listening"};
constexpr std::string_view name(SocketClass socket_class) {
  return socket_class_names[static_cast<std::size_t>(socket_class)];
}

enum class Reason : std::uint8_t {
  listening,
  kernel_ends_it,
  peer_removed,
  host_silent,
  syn_unanswered,
  data_unanswered,
  fin_unanswered,
  window_unanswered,
  probes_unanswered,
  never_accepted,
  never_closed,
  peer_never_closes,
  only_grows,
  half_closed,
  opening,
  unaccepted,
  data_flows,
  outlives_limit,
  idle_keepalive,
  idle_bare,
};

struct ReasonFacts {
  Reason reason;
  SocketClass socket_class;
  std::string_view why;
  std::string_view remedy;  // "": nothing to do
};
const ReasonFacts& facts(Reason reason);

struct Policy {
  std::int64_t quiet_ms = 10'000;      // without data for so long: not active
  std::int64_t limit_ms = 5 * 60'000;  // unprotected if nothing would end the socket within this
  std::int64_t orphan_ms = 60'000;     // since the other side closed, without any event
  std::uint32_t time_outs = 2;         // unanswered ones that make a socket suspect
};

// Facts about a socket from outside the socket.
struct Surroundings {
  bool peer_removed = false;  // on the list of gone peers
  bool host_silent = false;   // by the evidence of several sockets to that host
  bool only_grows = false;    // its program opens more and more of these
};

struct Classification {
  Reason reason = Reason::idle_bare;
  GiveUp give_up;
  SocketClass socket_class() const { return facts(reason).socket_class; }
};

Classification classify(const Socket& socket, const Limits& limits, const Policy& policy,
                        const Surroundings& surroundings);

// No answer although at least `times` were due.
bool is_stalled(const Socket& socket, std::uint32_t times);
// Carries data both ways, or could.
bool is_open(State state);

}  // namespace ebb::census
