#include "gate/pump.h"

namespace ebb::gate {

Pump prepare_pump(const Way& way) {
  const std::uint64_t left = way.from.body_left(way.from_end);
  const bool known = left != UINT64_MAX;
  if (!known || left < pump_bytes_min) return Pump::cannot;
  if (!way.from.bare_socket(way.from_end) || !way.to.bare_socket(way.to_end)) return Pump::cannot;
  way.from.receive(way.from_end, reactor::Receive::paused);
  return way.to.unsent(way.to_end) > 0 ? Pump::soon : Pump::can;
}

void start_pump(Core& core, const Way& way) {
  core.reactor.pump(way.from.bare_socket(way.from_end), way.to.bare_socket(way.to_end),
                    way.from.body_left(way.from_end));
}

}  // namespace ebb::gate
