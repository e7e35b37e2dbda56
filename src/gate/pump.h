// A long body between two plain sockets is moved by the kernel (splice). Stateless: that the kernel has it is a state
// of the half whose body it is (lifecycle/request_half.h, response_half.h).
#pragma once

#include "gate/core.h"
#include "gate/peer.h"

namespace ebb::gate {

enum class Pump : std::uint8_t {
  cannot,  // the body is short, or one side is no bare socket
  soon,    // as soon as the receiver has taken what was sent before: its side drains, and the caller comes back
  can,
};

// Anything but `cannot`: the sender is not received from any more.
Pump prepare_pump(const Way& way);
void start_pump(Core& core, const Way& way);

}  // namespace ebb::gate
