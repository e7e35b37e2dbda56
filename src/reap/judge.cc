#include "reap/judge.h"

#include <algorithm>

#include "census/classify.h"
#include "census/give_up.h"

namespace ebb::reap {
namespace {

using census::State;
using census::Timer;

constexpr std::uint32_t unanswered_time_outs = 2;
constexpr std::int64_t sign_of_life_ms = 1'000;  // a silent node is reported later than that

std::optional<Ground> ground_of(Standing standing, const census::Socket& socket) {
  switch (standing) {
    case Standing::gone_listed: return Ground::listed_gone;
    case Standing::removed: return Ground::removed;
    case Standing::past_grace: return Ground::grace_over;
    case Standing::leaving:
      if (census::is_stalled(socket, silent_time_outs)) return Ground::leaving_silent;
      return std::nullopt;
    case Standing::unknown:
    case Standing::serving: return std::nullopt;
  }
  return std::nullopt;
}

// Only retransmissions show how long. Keepalive depends on options that the kernel does not report, and a closed window
// is not silence. Connecting sockets have their own limit.
bool is_unanswered(const census::Socket& socket) {
  return census::is_open(socket.state) && socket.has_info && socket.timer == Timer::retransmit &&
         census::is_stalled(socket, unanswered_time_outs);
}

std::int64_t idle_ms(const census::Socket& socket) { return std::min(socket.last_sent_ms, socket.last_received_ms); }

bool is_quiet(const census::Socket& socket) {
  return census::is_open(socket.state) && socket.has_info && socket.unacknowledged == 0 && socket.not_sent == 0;
}

}  // namespace

std::string_view sentence(Ground ground) {
  switch (ground) {
    case Ground::listed_gone: return "its peer is listed as gone";
    case Ground::removed: return "its peer is no longer an endpoint of the service";
    case Ground::grace_over: return "its peer is leaving, and the grace is over";
    case Ground::leaving_silent: return "its peer is leaving and does not answer any more";
    case Ground::unanswered: return "its peer has not acknowledged anything for longer than the limit";
    case Ground::idle: return "it has carried no data for longer than the limit";
    case Ground::silent_node: return "the node of its peer does not answer, on any connection and to a probe";
  }
  return "";
}

bool is_endable(const census::Socket& socket) {
  const bool waits = socket.state == State::established || socket.state == State::syn_sent ||
                     socket.state == State::close_wait || socket.state == State::fin_wait1 ||
                     socket.state == State::fin_wait2;
  return waits && socket.inode != 0;
}

std::optional<Finding> judge(const census::Socket& socket, const census::Limits& limits, const Grounds& grounds,
                             const Endpoints& endpoints, base::Instant now) {
  if (!is_endable(socket)) return std::nullopt;
  if (grounds.removed) {
    const StandingOf of = endpoints.standing_of(socket, now);
    if (const auto ground = ground_of(of.standing, socket)) {
      Finding finding{.ground = *ground, .service = std::string(of.service)};
      if (of.since) finding.ms = base::to_ms(now - *of.since);
      return finding;
    }
  }
  if (grounds.unanswered && is_unanswered(socket)) {
    const std::int64_t silent_ms =
        std::min<std::int64_t>(census::stalled_ms(socket, limits), socket.last_acknowledged_ms);
    if (silent_ms >= base::to_ms(*grounds.unanswered)) return Finding{.ground = Ground::unanswered, .ms = silent_ms};
  }
  if (grounds.idle && is_quiet(socket) && idle_ms(socket) >= base::to_ms(*grounds.idle)) {
    return Finding{.ground = Ground::idle, .ms = idle_ms(socket)};
  }
  return std::nullopt;
}

std::optional<Finding> judge_silent_node(const census::Socket& socket, const Grounds& grounds) {
  if (!grounds.silent_nodes || !is_endable(socket)) return std::nullopt;
  const std::int64_t silent_ms = std::min(socket.last_received_ms, socket.last_acknowledged_ms);
  const bool connected = socket.has_info && socket.state != State::syn_sent;
  if (connected && silent_ms < sign_of_life_ms) return std::nullopt;
  Finding finding{.ground = Ground::silent_node};
  if (connected) finding.ms = silent_ms;
  return finding;
}

}  // namespace ebb::reap
