// A socket that its handler has closed while output was unsent: it lives on until the output is gone, but not without
// end. Part of each socket; linked in the loop's list, the nearest deadline first.
#pragma once

#include "base/clock.h"
#include "base/list.h"
#include "reactor/reactor.h"

namespace ebb::reactor {

struct Linger : base::ListNode<Linger> {
  SocketId socket;
  base::Instant deadline;
};

}  // namespace ebb::reactor
