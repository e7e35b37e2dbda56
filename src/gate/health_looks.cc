// What shows only when one looks, every 200 ms while there is work, oftener in doubt: connections whose bytes are not
// acknowledged; and, in health_silence.cc, requests that are not answered while those to siblings are.
//
// Before: gate/worker (timer). Next: gate/health (judge).
#include <algorithm>

#include "gate/backends.h"
#include "gate/exchanges.h"
#include "gate/health.h"

namespace ebb::gate {

using base::Cause;
using base::Handle;
using lifecycle::Health;

namespace {

// A connection that was written to and has said nothing for so long is worth a question to the kernel.
constexpr base::Duration quiet_min = std::chrono::milliseconds{200};
constexpr std::size_t looks_max = 64;  // per look

}  // namespace

void HealthWatch::look() {
  const base::Instant now = core_.reactor.now();
  look_for_stalled(now);
  look_for_unreachable();
  if (now - looked_at_ < look_interval * 3 / 4) return;  // bytes that were sent again are looked at oftener
  looked_at_ = now;
  look_for_silent();
  relieve();
}

void HealthWatch::look_for_stalled(base::Instant now) {
  std::vector<Handle> quiet;
  core_.backends->for_each([&](Handle handle, const BackendConnection& connection) {
    if (connection.life.ended() || connection.asked_since == base::Instant::max()) return;
    if (now - connection.asked_since >= quiet_min) quiet.push_back(handle);
  });
  delayed_ = false;
  // More than may be looked at: others the next time.
  const std::size_t first = quiet.size() > looks_max ? core_.random.below(quiet.size()) : 0;
  for (std::size_t i = 0; i < std::min(quiet.size(), looks_max); ++i) {
    const BackendConnection* found = core_.backends->find(quiet[(first + i) % quiet.size()]);
    if (found == nullptr) continue;
    const BackendConnection& connection = *found;
    const auto facts = core_.reactor.tcp_facts(connection.socket);
    if (!facts || facts->unacknowledged == 0 || facts->timeouts == 0) continue;
    const LiveEndpoint* endpoint = core_.endpoints->find(connection.endpoint);
    if (endpoint == nullptr) continue;
    const routes::RetransmissionModel& limits = core_.endpoints->view(endpoint->view).evidence.retransmission;
    if (!limits.on) continue;
    const bool stalled = facts->timeouts >= limits.timeouts;
    delayed_ = delayed_ || !stalled;
    report({endpoint->identity, stalled ? Finding::Kind::stalled : Finding::Kind::delayed});
  }
}

}  // namespace ebb::gate
