// Whether there are grounds to end a socket. Pure: the same function decides on a sample, and again on fresh facts
// immediately before the socket is ended. Whether it may be touched at all is another question (allow.h).
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
  listed_gone,     // the list says that the peer is gone
  removed,         // the peer is no longer one of its service's
  grace_over,      // the peer has been leaving for longer than its grace
  leaving_silent,  // the peer is leaving and does not answer any more
  unanswered,      // nothing was acknowledged for too long
  idle,            // nothing was said for too long
  silent_node,     // all that goes to the peer's node is silent, and so is the node to a probe
};
inline constexpr std::array<std::string_view, 7> ground_names = {
    "listed_gone", "removed", "grace_over", "leaving_silent", "unanswered", "idle", "silent_node"};
constexpr std::string_view name(Ground ground) { return ground_names[static_cast<std::size_t>(ground)]; }
std::string_view sentence(Ground ground);  // for people

// So many unanswered time-outs on a connection to somebody who is leaving: it has left.
inline constexpr std::uint32_t silent_time_outs = 3;

struct Finding {
  Ground ground = Ground::idle;
  std::string service;             // "": by no service
  std::optional<std::int64_t> ms;  // for how long it has been so, where that is known
};

// None: leave it. Only what a program holds and could wait on is ever found.
std::optional<Finding> judge(const census::Socket& socket, const census::Limits& limits, const Grounds& grounds,
                             const Endpoints& endpoints, base::Instant now);

// As judge(), of a socket whose node is reported silent: it must not have heard from it meanwhile.
std::optional<Finding> judge_silent_node(const census::Socket& socket, const Grounds& grounds);

// The states that judge() can find something in.
bool is_endable(const census::Socket& socket);

}  // namespace ebb::reap
