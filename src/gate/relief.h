// What the worker does when its buffers are nearly used up: no client may make it deaf to the others. Connections that
// were closed a while ago and still flush go first. Then copies kept for a replay, all that flush, the oldest first,
// and the clients that hold most, until a quarter is free again.
//
// Owned by the Worker, called at the end of a round. Before: base/block (crowded()). Next: reactor (end_flushing),
// gate/clients (end).
#pragma once

#include <vector>

#include "gate/core.h"

namespace ebb::gate {

class Relief {
 public:
  explicit Relief(Core& core) : core_(core) {}

  void settle() {
    const base::BlockPool& blocks = core_.reactor.blocks();
    if (blocks.bytes_in_use() > filled(blocks)) act();
  }

 private:
  struct Holder {
    base::Handle client;
    std::size_t bytes = 0;
  };

  // Beyond this what was closed a while ago is not waited for.
  static std::size_t filled(const base::BlockPool& blocks) { return blocks.budget() / 8 * 5; }
  void act();
  void end_holders(std::size_t freed);
  std::vector<Holder> holders();

  Core& core_;
  base::Instant next_{};  // a walk over all clients costs time: not in every round
};

}  // namespace ebb::gate
