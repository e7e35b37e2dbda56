#include "census/classify.h"

#include <algorithm>
#include <iterator>

namespace ebb::census {
namespace {

using enum Reason;

constexpr ReasonFacts reason_table[] = {
    {listening, SocketClass::listening, "it waits for connections", ""},
    {kernel_ends_it, SocketClass::closing, "both programs are done with it; the kernel ends it by itself", ""},
    {peer_removed, SocketClass::stale, "its peer is on the list of those that are gone",
     "end it, so that the program connects to a living peer: `ebbgate reap`, or `ss -K` for this socket"},
    {host_silent, SocketClass::stale, "none of the sockets to that host has had an answer since they stalled",
     "the host is dead or cut off: end it, so that the program connects elsewhere, and look at the host"},
    {syn_unanswered, SocketClass::half_open_suspect, "nobody answers its SYN",
     "look whether the address is right, the host up, and a firewall in between drops instead of refusing"},
    {data_unanswered, SocketClass::half_open_suspect, "data was sent again and again and is not acknowledged",
     "the peer or the path is gone, without a FIN; set TCP_USER_TIMEOUT in the program to notice it in seconds"},
    {fin_unanswered, SocketClass::half_open_suspect, "its end was sent again and again and is not acknowledged",
     "nothing: the program has closed it, and the kernel gives up by itself"},
    {window_unanswered, SocketClass::half_open_suspect,
     "the peer had closed its window and does not answer probes of it",
     "the peer or the path is gone; set TCP_USER_TIMEOUT in the program to notice it in seconds"},
    {probes_unanswered, SocketClass::half_open_suspect, "keepalive probes are not answered",
     "the peer or the path is gone; fewer probes at shorter intervals would end it sooner"},
    {never_accepted, SocketClass::orphan, "no program accepts it",
     "the program that listens there is stuck or overloaded: look at what it does, and at its listener's queue"},
    {never_closed, SocketClass::orphan, "the peer has closed it, and the program does not",
     "a defect of the program: it must close what it read the end of; only its own end frees the socket"},
    {peer_never_closes, SocketClass::orphan, "the program has closed its side and waits for a peer that does not close",
     "the program should close the socket whole (close, not only shutdown) or give its reading a time limit"},
    {only_grows, SocketClass::leaking, "this program only ever opens more of these connections and closes none",
     "let the program reuse its connections, or close them after use; limit idle ones in its client library"},
    {half_closed, SocketClass::closing, "one side has closed it a moment ago", ""},
    {opening, SocketClass::active, "it is being opened", ""},
    {unaccepted, SocketClass::active, "it waits for its program to accept it", ""},
    {data_flows, SocketClass::active, "data flows", ""},
    {outlives_limit, SocketClass::unprotected,
     "it has been quiet for long, and if its peer died now the kernel would not notice within the limit",
     "switch keepalive on in the program, with times that fit (SO_KEEPALIVE, TCP_KEEPIDLE, TCP_KEEPINTVL, "
     "TCP_KEEPCNT)"},
    {idle_keepalive, SocketClass::idle, "it is quiet; keepalive is on", ""},
    {idle_bare, SocketClass::idle, "it is quiet; keepalive is off", ""},
};

consteval bool in_order() {
  for (std::size_t i = 0; i < std::size(reason_table); ++i) {
    if (static_cast<std::size_t>(reason_table[i].reason) != i) return false;
  }
  return static_cast<std::size_t>(idle_bare) + 1 == std::size(reason_table);
}
static_assert(in_order(), "the table is looked up by number");

struct Case {
  const Socket& socket;
  const GiveUp& give_up;
  const Policy& policy;
  const Surroundings& surroundings;

  bool in(auto... states) const { return ((socket.state == states) || ...); }
  bool stalled() const { return is_stalled(socket, policy.time_outs); }
  bool stalled_by(Timer timer) const { return stalled() && socket.timer == timer; }
  std::int64_t quiet_ms() const { return std::min(socket.last_received_ms, socket.last_sent_ms); }
  // Acknowledgements count: a FIN is one, and the last packet received.
  std::int64_t closed_ms() const { return std::min<std::int64_t>(quiet_ms(), socket.last_acknowledged_ms); }
  bool outlives(std::int64_t limit) const { return !give_up.in_ms || *give_up.in_ms > limit; }
};

struct Rule {
  Reason reason;
  bool (*holds)(const Case&);
};

// A local peer's end is always known: its kernel is ours.
constexpr Rule rules[] = {
    {listening, [](const Case& c) { return c.in(State::listen); }},
    {kernel_ends_it, [](const Case& c) { return c.socket.timer == Timer::time_wait || c.in(State::closed); }},
    {peer_removed, [](const Case& c) { return c.surroundings.peer_removed; }},
    {host_silent, [](const Case& c) { return c.surroundings.host_silent; }},
    {syn_unanswered,
     [](const Case& c) { return c.stalled() && c.in(State::syn_sent, State::syn_recv, State::new_syn_recv); }},
    {fin_unanswered,
     [](const Case& c) {
       return c.stalled_by(Timer::retransmit) && c.in(State::fin_wait1, State::last_ack, State::closing);
     }},
    {data_unanswered, [](const Case& c) { return c.stalled_by(Timer::retransmit); }},
    {window_unanswered, [](const Case& c) { return c.stalled_by(Timer::persist); }},
    {probes_unanswered, [](const Case& c) { return c.stalled_by(Timer::keepalive); }},
    {kernel_ends_it,
     [](const Case& c) { return c.in(State::last_ack, State::closing, State::fin_wait1) || c.socket.abandoned(); }},
    {never_accepted, [](const Case& c) { return c.socket.unaccepted() && c.closed_ms() >= c.policy.orphan_ms; }},
    {unaccepted, [](const Case& c) { return c.socket.unaccepted(); }},
    {never_closed, [](const Case& c) { return c.in(State::close_wait) && c.closed_ms() >= c.policy.orphan_ms; }},
    {peer_never_closes, [](const Case& c) { return c.in(State::fin_wait2) && c.closed_ms() >= c.policy.orphan_ms; }},
    {only_grows, [](const Case& c) { return c.surroundings.only_grows && is_open(c.socket.state); }},
    {half_closed, [](const Case& c) { return c.in(State::close_wait, State::fin_wait2); }},
    {opening, [](const Case& c) { return c.in(State::syn_sent, State::syn_recv, State::new_syn_recv); }},
    {data_flows,
     [](const Case& c) {
       return c.quiet_ms() < c.policy.quiet_ms || c.socket.unacknowledged > 0 || c.socket.not_sent > 0;
     }},
    {outlives_limit,
     [](const Case& c) {
       return c.quiet_ms() >= c.policy.limit_ms && c.outlives(c.policy.limit_ms) && !c.socket.peer.is_loopback();
     }},
    {idle_keepalive, [](const Case& c) { return c.socket.timer == Timer::keepalive; }},
    {idle_bare, [](const Case&) { return true; }},
};

}  // namespace

const ReasonFacts& facts(Reason reason) { return reason_table[static_cast<std::size_t>(reason)]; }

bool is_open(State state) {
  return state == State::established || state == State::close_wait || state == State::fin_wait2;
}

bool is_stalled(const Socket& socket, std::uint32_t times) {
  return (socket.timer == Timer::retransmit || socket.timer == Timer::persist || socket.timer == Timer::keepalive) &&
         socket.timer_count >= times;
}

Classification classify(const Socket& socket, const Limits& limits, const Policy& policy,
                        const Surroundings& surroundings) {
  const GiveUp ends = give_up(socket, limits);
  const Case one{socket, ends, policy, surroundings};
  const Rule* const rule = std::ranges::find_if(rules, [&one](const Rule& each) { return each.holds(one); });
  return {rule->reason, ends};
}

}  // namespace ebb::census
