#include "gate/stalls.h"

#include <algorithm>

#include "gate/backends.h"

namespace ebb::gate {

using base::Handle;

namespace {

// A connection that was written to and has said nothing for so long is worth a question to the kernel.
constexpr base::Duration quiet_min = std::chrono::milliseconds{200};
constexpr std::size_t looks_max = 64;  // per look

}  // namespace

bool Stalls::look() {
  const std::vector<Handle> quiet = quiet_connections();
  bool sent_again = false;
  // More than may be looked at: others the next time.
  const std::size_t first = quiet.size() > looks_max ? core_.random.below(quiet.size()) : 0;
  for (std::size_t i = 0; i < std::min(quiet.size(), looks_max); ++i) {
    const BackendConnection* connection = core_.backends->find(quiet[(first + i) % quiet.size()]);
    if (connection != nullptr && look_at(*connection)) sent_again = true;
  }
  return sent_again;
}

std::vector<Handle> Stalls::quiet_connections() const {
  const base::Instant now = core_.reactor.now();
  std::vector<Handle> quiet;
  core_.backends->for_each([&](Handle handle, const BackendConnection& connection) {
    if (connection.life.ended() || connection.asked_since == base::Instant::max()) return;
    if (now - connection.asked_since >= quiet_min) quiet.push_back(handle);
  });
  return quiet;
}

// True: its bytes were sent again, but not so often yet that it is stalled.
bool Stalls::look_at(const BackendConnection& connection) {
  const auto facts = core_.reactor.tcp_facts(connection.socket);
  if (!facts || facts->unacknowledged == 0 || facts->timeouts == 0) return false;
  const LiveEndpoint* endpoint = core_.endpoints->find(connection.endpoint);
  if (endpoint == nullptr) return false;
  const routes::RetransmissionModel& limits = core_.endpoints->view(endpoint->view).evidence.retransmission;
  if (!limits.on) return false;
  const bool stalled = facts->timeouts >= limits.timeouts;
  findings_.report({endpoint->identity, stalled ? Finding::Kind::stalled : Finding::Kind::delayed});
  return !stalled;
}

}  // namespace ebb::gate
