// Whether there are grounds to end a socket. Pure: the same function decides on a sample, and again on fresh facts just
// before the end. Whether the socket may be touched is a separate question (allow.h).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "census/limits.h"
#include "census/socket.h"
#include "reap/endpoints.h"
#include "reap/policy.h"

namespace ebb::reap {

enum class Ground : std::uint8_t {
  listed_gone,     // the list names the peer as gone
  removed,         // the peer no longer belongs to its service
  grace_over,      // the peer has been leaving for longer than its grace
  leaving_silent,  // the peer is leaving and no longer answers
  unanswered,      // no acknowledgement for too long
  idle,            // no data for too long
  silent_node,     // everything sent to the peer's node goes unanswered, and so does a probe
};
inline constexpr std::array<std::string_view, 7> ground_names = {
    "listed_gone", "removed", "grace_over", "leaving_silent", "unanswered", "idle", "silent_node"};
constexpr std::string_view name(Ground ground) { return ground_names[static_cast<std::size_t>(ground)]; }
std::string_view sentence(Ground ground);  // for messages

// A leaving peer has left after this many unanswered time-outs.
inline constexpr std::uint32_t silent_time_outs = 3;

struct Finding {
  Ground ground = Ground::idle;
  std::string service;             // "": no service
  std::optional<std::int64_t> ms;  // how long it has been so, if known
};

// Empty: leave the socket. Only sockets that a program holds and may wait on are found.
std::optional<Finding> judge(const census::Socket& socket, const census::Limits& limits, const Grounds& grounds,
                             const Endpoints& endpoints, base::Instant now);

// As judge(), for a socket whose node is reported silent: it must not have received anything since.
std::optional<Finding> judge_silent_node(const census::Socket& socket, const Grounds& grounds);

// The states in which judge() can find grounds.
bool is_endable(const census::Socket& socket);

}  // namespace ebb::reap
