// The state of a listening socket, for both kinds of reactor. Owned by the reactor's SlotMap.
#pragma once

#include "base/clock.h"
#include "base/slot_map.h"
#include "reactor/descriptor.h"
#include "reactor/holdings.h"

namespace ebb::reactor {

// A connection that is being made when its listener closes is lost: its handshake is waited for, where the peer is
// near. One that takes longer, over a long way, was begun just before the listener went.
inline constexpr base::Duration handshake_time = std::chrono::milliseconds{2};

inline constexpr int queue_longest = 65536;  // accepts of a listener that closes

struct ListenerState {
  Descriptor descriptor;
  base::Owner owner;
  bool closing = false;
  bool started = false;
  base::Instant close_at = base::Instant::max();  // once it is closing and gets no new connections
  std::uint64_t inode = 0;                        // as list_listeners() first found it
};

// `Listener` is a ListenerState, or more than that.
template <typename Listener>
void list_listeners(base::SlotMap<Listener>& listeners, Holdings& out) {
  listeners.for_each([&out](base::Handle id, ListenerState& listener) {
    if (listener.inode == 0) listener.inode = inode_of(listener.descriptor.get());
    out.push_back({.descriptor = listener.descriptor.get(),
                   .kind = Holding::Kind::listener,
                   .inode = listener.inode,
                   .socket = id,
                   .owner = listener.owner});
  });
}

}  // namespace ebb::reactor
