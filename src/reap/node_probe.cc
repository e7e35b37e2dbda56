#include "reap/node_probe.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include <cerrno>
#include <thread>

namespace ebb::reap {
namespace {

reactor::Descriptor open_socket(int family) {
  return reactor::Descriptor(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
}

// A socket stays in the namespace that it was made in; a thread goes there, so that nobody has to find the way back.
reactor::Descriptor open_socket_in(const std::string& space_path, int family) {
  if (space_path.empty()) return open_socket(family);
  reactor::Descriptor socket;
  std::jthread([&] {
    const reactor::Descriptor space(::open(space_path.c_str(), O_RDONLY | O_CLOEXEC));
    if (space && ::setns(space.get(), CLONE_NEWNET) == 0) socket = open_socket(family);
  }).join();
  return socket;
}

// None: not decided yet.
std::optional<ProbeResult> outcome_of(int socket) {
  pollfd waiting{.fd = socket, .events = POLLOUT, .revents = 0};
  if (::poll(&waiting, 1, 0) != 1) return std::nullopt;
  int error = 0;
  socklen_t size = sizeof(error);
  if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return ProbeResult::inconclusive;
  return judge_connect(error);
}

}  // namespace

ProbeResult judge_connect(int error) {
  switch (error) {
    case 0:
    case ECONNREFUSED:
    case ECONNRESET: return ProbeResult::answered;
    case ETIMEDOUT:
    case EHOSTUNREACH:  // no neighbour has that address, or a router says that the host is gone
    case EHOSTDOWN: return ProbeResult::failed;
    default: return ProbeResult::inconclusive;  // no way there, no descriptor, a firewall of our own
  }
}

void NodeProbes::start(base::Instant now, std::string node, const base::Address& target,
                       const std::string& space_path) {
  reactor::Descriptor socket = open_socket_in(space_path, target.family());
  if (!socket) {
    finished_.push_back({std::move(node), ProbeResult::inconclusive});
    return;
  }
  const linger at_once{.l_onoff = 1, .l_linger = 0};  // a probe leaves no TIME-WAIT behind
  ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  if (::connect(socket.get(), target.raw(), target.raw_size()) != 0 && errno != EINPROGRESS) {
    finished_.push_back({std::move(node), judge_connect(errno)});
    return;
  }
  running_.push_back({std::move(node), std::move(socket), now + patience});
}

std::vector<NodeProbes::Finished> NodeProbes::take_finished(base::Instant now) {
  std::vector<Finished> finished = std::exchange(finished_, {});
  std::erase_if(running_, [&](Probe& probe) {
    auto result = outcome_of(probe.socket.get());
    if (!result && now >= probe.deadline) result = ProbeResult::failed;
    if (result) finished.push_back({std::move(probe.node), *result});
    return result.has_value();
  });
  return finished;
}

}  // namespace ebb::reap
