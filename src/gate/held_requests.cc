#include "gate/held_requests.h"

#include <algorithm>

#include "gate/attempts.h"
#include "gate/deadlines.h"
#include "gate/endpoints.h"
#include "gate/exchanges.h"

namespace ebb::gate {

using base::Cause;
using base::Handle;
using lifecycle::Standing;
using Event = lifecycle::ExchangeLife::Event;

namespace {

constexpr base::Duration verdict_wait =
    std::chrono::milliseconds{250};  // there is none where `evidence.connect` is off

}  // namespace

// However often it is woken in vain, its time in the queue ends. The time of an attempt in between is not time in the
// queue.
bool HeldRequests::may_wait(const Exchange& exchange) const {
  const routes::QueueModel& queue = exchange.backend().model.queue;
  return queue.limit > 0 && exchange.front->has_client() && !core_.stopping && exchange.hold.waited < queue.timeout;
}

void HeldRequests::hold(Exchange& exchange) {
  const routes::QueueModel& queue = exchange.backend().model.queue;
  BackendView& view = core_.endpoints->view(exchange.view());
  Hold& hold = exchange.hold;
  Cause& failure = exchange.tries.last_failure;
  if (!may_wait(exchange)) return core_.exchanges->finish(exchange, failure);
  if (!view.queue.push(exchange.route, exchange.self, queue.limit)) {
    return core_.exchanges->finish(exchange, Cause::queue_full);
  }
  const bool crowded = std::any_of(view.endpoints.begin(), view.endpoints.end(), [this](Handle handle) {
    const LiveEndpoint* endpoint = core_.endpoints->find(handle);
    return endpoint != nullptr && endpoint->standing() != Standing::unavailable;
  });
  if (crowded && failure == Cause::backend_empty) failure = Cause::queue_timeout;
  if (hold.since == base::Instant{}) view.held_ever += 1;
  hold.version = core_.endpoints->version();
  hold.since = core_.reactor.now();
  core_.exchanges->step(exchange, Event::hold);
  core_.deadlines->arm_held(exchange, hold.since + queue.timeout - hold.waited);
}

void HeldRequests::leave(const Exchange& exchange) {
  core_.endpoints->view(exchange.view()).queue.remove(exchange.self);
}

void HeldRequests::expired(Exchange& exchange) {
  core_.endpoints->view(exchange.view()).hold_timeouts += 1;
  core_.exchanges->finish(exchange, exchange.tries.last_failure);
}

void HeldRequests::serve() {
  for (const Handle woken : core_.endpoints->take_woken()) {
    BackendView* view = core_.endpoints->find_view(woken);
    if (view == nullptr) continue;
    // As many as wait now: one that finds nothing waits again, at the end.
    for (std::size_t left = view->queue.size(); left > 0 && core_.endpoints->has_room(*view); --left) {
      Exchange* exchange = core_.exchanges->live(view->queue.pop());
      if (exchange == nullptr) continue;
      core_.exchanges->step(*exchange, Event::woken);
      const base::Duration waited = core_.reactor.now() - exchange->hold.since;
      exchange->hold.waited += waited;
      // What could not be reached may be there again, but not before anything is known about it: the verdict may be on
      // its way from another worker.
      const bool changed = exchange->hold.version != core_.endpoints->version();
      if (changed || waited >= verdict_wait) exchange->tries.tried.clear();
      core_.attempts->begin(*exchange);
    }
  }
}

}  // namespace ebb::gate
