#include "gate/probes.h"

#include <vector>

namespace ebb::gate {

using base::Cause;
using base::Handle;

Cause Probes::begin(std::uint64_t identity, const base::Address& address, base::Duration time_max) {
  const Handle self = probes_.emplace();
  Probe& probe = *probes_.find(self);
  const auto socket = core_.reactor.connect(address, {owner_health, self});
  if (!socket) {
    probes_.erase(self);
    return socket.error().cause;
  }
  probe.identity = identity;
  probe.socket = *socket;
  probe.timer.set_owner({owner_health, self});
  core_.arm(probe.timer, time_max);
  return Cause::none;
}

std::optional<std::uint64_t> Probes::end(Handle handle) {
  Probe* probe = probes_.find(handle);
  if (probe == nullptr) return {};
  const std::uint64_t identity = probe->identity;
  core_.reactor.close(probe->socket, reactor::CloseMode::reset);
  probe->timer.disarm();
  probes_.erase(handle);
  return identity;
}

void Probes::end_all() {
  std::vector<Handle> all;
  probes_.for_each([&all](Handle handle, Probe&) { all.push_back(handle); });
  for (const Handle handle : all) end(handle);
}

}  // namespace ebb::gate
