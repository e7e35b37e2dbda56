#include "reactor/holdings.h"

#include <sys/stat.h>

#include "reactor/socket_state.h"

namespace ebb::reactor {

namespace {

Holding::Kind kind_of(Phase phase) {
  switch (phase) {
    case Phase::open:
    case Phase::failed: return Holding::Kind::open;
    case Phase::flushing:
    case Phase::draining: return Holding::Kind::lingering;
    case Phase::closing: break;
  }
  return Holding::Kind::closing;
}

}  // namespace

std::uint64_t inode_of(int descriptor) {
  struct stat facts{};
  return ::fstat(descriptor, &facts) == 0 ? facts.st_ino : 0;
}

// Only what lives long enough to be looked at is asked for its inode, and only once.
void SocketState::list(Holdings& out) {
  if (inode == 0) inode = static_cast<std::uint32_t>(inode_of(fd()));
  out.push_back({.descriptor = fd(),
                 .kind = kind_of(phase),
                 .failure = failure.cause,
                 .inode = inode,
                 .socket = id,
                 .owner = owner,
                 .opened = base::Instant(std::chrono::seconds{opened_seconds})});
  if (pump != nullptr) reactor::list(pump->pipe, out);
}

}  // namespace ebb::reactor
