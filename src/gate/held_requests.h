// Requests that no endpoint may take at the moment: there is none, none is well, or all have as much as they may. They
// wait in the queue of their backend (BackendView::queue) and are woken by a change of its endpoints, never by looking
// again and again.
//
// Before: gate/attempts. Next: gate/attempts again, or an answer.
#pragma once

#include "gate/exchange.h"

namespace ebb::gate {

class HeldRequests {
 public:
  explicit HeldRequests(Core& core) : core_(core) {}

  // Or ends it, where it may not wait.
  void hold(Exchange& exchange);
  void leave(const Exchange& exchange);
  void expired(Exchange& exchange);
  // Requests that were woken look again for an endpoint.
  void serve();

 private:
  bool may_wait(const Exchange& exchange) const;

  Core& core_;
};

}  // namespace ebb::gate
