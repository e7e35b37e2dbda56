// Connections that only ask whether an endpoint can be reached: an established connection is a passed probe. Verdicts
// decides when to probe.
//
// Owns the probe connections. Owned by HealthWatch. A probe ends when it connects, fails or runs out of time, and when
// the worker stops.
// Before: gate/verdicts (probe). Next: gate/health (on_probe_connected, on_probe_failed, on_timer).
#pragma once

#include <cstdint>
#include <optional>

#include "base/slot_map.h"
#include "gate/core.h"

namespace ebb::gate {

class Probes {
 public:
  explicit Probes(Core& core) : core_(core) {}

  // Cause::none: the probe is on its way. Otherwise why it could not begin.
  base::Cause begin(std::uint64_t identity, const base::Address& address, base::Duration time_max);
  // The endpoint that was probed; nothing if the probe has ended already.
  std::optional<std::uint64_t> end(base::Handle probe);
  void end_all();

  std::size_t size() const { return probes_.size(); }
  // For the book.
  bool owns(base::Handle probe, reactor::SocketId socket) const {
    const Probe* known = probes_.find(probe);
    return known != nullptr && known->socket == socket;
  }
  std::uint64_t probed(base::Handle probe) const {  // 0: there is no such probe
    const Probe* known = probes_.find(probe);
    return known == nullptr ? 0 : known->identity;
  }
  template <class Callback>  // (handle, socket)
  std::uint32_t for_some(std::uint32_t from, std::uint32_t most, Callback&& callback) {
    return probes_.for_some(from, most,
                            [&callback](base::Handle handle, const Probe& probe) { callback(handle, probe.socket); });
  }

 private:
  struct Probe {
    std::uint64_t identity = 0;
    reactor::SocketId socket;
    base::Timer timer;
  };

  Core& core_;
  base::SlotMap<Probe> probes_;
};

}  // namespace ebb::gate
