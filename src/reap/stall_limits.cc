#include "reap/stall_limits.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>

namespace ebb::reap {
namespace {

constexpr std::uint32_t no_timeout = 0;

// Sets the option only if it has the expected value: the program may have changed it.
bool exchange_timeout(int twin, std::uint32_t expected, std::uint32_t wanted) {
  return census::read_option(twin, IPPROTO_TCP, TCP_USER_TIMEOUT) == expected &&
         census::set_option(twin, IPPROTO_TCP, TCP_USER_TIMEOUT, wanted);
}

}  // namespace

StallLimits::~StallLimits() {
  census::Twins twins;
  for (auto& [cookie, one] : followed_) {
    if (one.limited) lift(one, twins);
  }
}

void StallLimits::follow(const census::Process& process, const census::Socket& socket, bool limited) {
  followed_.try_emplace(socket.cookie, Followed{.process = process, .socket = socket, .limited = limited});
}

std::uint64_t StallLimits::sweep(const census::Sample& sample) {
  if (followed_.empty()) return 0;
  ++looks_;
  std::uint64_t limited = 0;
  census::Twins twins;
  for (const census::Socket& socket : sample.sockets) {
    const auto found = followed_.find(socket.cookie);
    if (found == followed_.end()) continue;
    Followed& one = found->second;
    one.seen = looks_;
    switch (stall_change(socket, one.limited)) {
      case StallChange::none: break;
      case StallChange::lift: lift(one, twins); break;
      case StallChange::limit:
        limit(one, twins);
        if (one.limited) ++limited;
    }
  }
  std::erase_if(followed_, [this](const auto& entry) { return entry.second.seen != looks_; });
  return limited;
}

bool StallLimits::any_limited() const {
  return std::ranges::any_of(followed_, [](const auto& entry) { return entry.second.limited; });
}

// The time counts from the first retransmission, whenever the option is set (retransmits_timed_out).
void StallLimits::limit(Followed& one, census::Twins& twins) const {
  const reactor::Descriptor twin = twins.open(one.process, one.socket);
  one.limited = twin && exchange_timeout(twin.get(), no_timeout, timeout_ms_);
}

// If the socket cannot be duplicated, because the program now holds it under another number, the next look retries.
void StallLimits::lift(Followed& one, census::Twins& twins) const {
  const reactor::Descriptor twin = twins.open(one.process, one.socket);
  if (!twin) return;
  exchange_timeout(twin.get(), timeout_ms_, no_timeout);
  one.limited = false;
}

}  // namespace ebb::reap
