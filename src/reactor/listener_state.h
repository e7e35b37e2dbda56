// What a reactor knows of a listening socket, whichever way it learns of events. Owned by the reactor's SlotMap.
#pragma once

#include "base/slot_map.h"
#include "reactor/descriptor.h"
#include "reactor/holdings.h"

namespace ebb::reactor {

struct ListenerState {
  Descriptor descriptor;
  base::Owner owner;
  bool closing = false;
  std::uint64_t inode = 0;  // as list_listeners() first found it
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
