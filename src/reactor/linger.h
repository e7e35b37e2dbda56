// State of a socket that its handler closed while output was unsent or its peer was sending. The socket lives until the
// output has left and the peer has ended, within limits. Only such sockets have it, because idle connections are many.
// Linked in one of the loop's lists by what it waits for, the nearest deadline first, and in the one by age, the oldest
// first.
#pragma once

#include "base/clock.h"
#include "base/list.h"
#include "reactor/reactor.h"

namespace ebb::reactor {

// Of a peer that owes nothing but its FIN, which many never send.
inline constexpr base::Duration linger_silence = std::chrono::seconds{2};

struct ByAge;

struct Linger : base::ListNode<Linger>, base::ListNode<ByAge> {
  using Waiting = base::ListNode<Linger>;
  using Ageing = base::ListNode<ByAge>;

  explicit Linger(SocketId of) : socket(of) {}

  SocketId socket;
  base::Instant deadline{};
  base::Instant latest{};  // whatever the peer still sends
  base::Instant closed{};  // by the handler
};

}  // namespace ebb::reactor
