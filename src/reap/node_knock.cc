#include "reap/node_knock.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <thread>

namespace ebb::reap {
namespace {

reactor::Descriptor open_socket(int family) {
  return reactor::Descriptor(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
}

// A socket stays in the namespace in which it was made; a separate thread enters the namespace and never returns.
std::vector<reactor::Descriptor> open_sockets_in(const std::string& space_path, int family, std::size_t count) {
  std::vector<reactor::Descriptor> sockets(count);
  const auto open_all = [&] { std::ranges::generate(sockets, [family] { return open_socket(family); }); };
  if (space_path.empty()) {
    open_all();
    return sockets;
  }
  std::jthread([&] {
    const reactor::Descriptor space(::open(space_path.c_str(), O_RDONLY | O_CLOEXEC));
    if (space && ::setns(space.get(), CLONE_NEWNET) == 0) open_all();
  }).join();
  return sockets;
}

// Empty: undecided.
std::optional<KnockResult> outcome_of(int socket) {
  pollfd waiting{.fd = socket, .events = POLLOUT, .revents = 0};
  if (::poll(&waiting, 1, 0) != 1) return std::nullopt;
  int error = 0;
  socklen_t size = sizeof(error);
  if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return KnockResult::inconclusive;
  return judge_connect(error);
}

}  // namespace

KnockResult judge_connect(int error) {
  switch (error) {
    case 0:
    case ECONNREFUSED:
    case ECONNRESET: return KnockResult::answered;
    case ETIMEDOUT:
    case EHOSTUNREACH:  // no neighbour has that address, or a router reports the host as gone
    case EHOSTDOWN: return KnockResult::failed;
    default: return KnockResult::inconclusive;  // no route, no descriptor, a local firewall
  }
}

void NodeKnocks::start(base::Instant now, std::string node, const base::Address& target, const std::string& space_path,
                       const KnockTimes& times) {
  running_.push_back({.node = std::move(node),
                      .target = target,
                      .series = KnockSeries(now, times),
                      .unused = open_sockets_in(space_path, target.family(), times.attempts),
                      .attempts = {}});
}

NodeKnocks::Attempt NodeKnocks::send(Knock& knock) {
  Attempt attempt{.socket = std::move(knock.unused.back()), .result = std::nullopt};
  knock.unused.pop_back();
  if (!attempt.socket) {
    attempt.result = KnockResult::inconclusive;
    return attempt;
  }
  const linger at_once{.l_onoff = 1, .l_linger = 0};  // a knock leaves no TIME-WAIT
  ::setsockopt(attempt.socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  if (::connect(attempt.socket.get(), knock.target.raw(), knock.target.raw_size()) != 0 && errno != EINPROGRESS) {
    attempt.result = judge_connect(errno);
  }
  return attempt;
}

std::optional<KnockResult> NodeKnocks::look_at(Knock& knock, base::Instant now) {
  std::vector<std::optional<KnockResult>> outcomes;
  for (Attempt& attempt : knock.attempts) {
    if (!attempt.result) attempt.result = outcome_of(attempt.socket.get());
    outcomes.push_back(attempt.result);
  }
  return knock.series.judge(now, outcomes);
}

std::vector<NodeKnocks::Finished> NodeKnocks::tend(base::Instant now) {
  std::vector<Finished> finished;
  std::erase_if(running_, [&](Knock& knock) {
    if (knock.series.take_attempt(now)) knock.attempts.push_back(send(knock));
    const auto result = look_at(knock, now);
    if (result) finished.push_back({std::move(knock.node), *result});
    return result.has_value();
  });
  return finished;
}

std::optional<base::Instant> NodeKnocks::due() const {
  std::optional<base::Instant> first;
  for (const Knock& knock : running_) first = std::min(first.value_or(knock.series.due()), knock.series.due());
  return first;
}

}  // namespace ebb::reap
