// Requests that no endpoint may take at the moment: there is none, none is well, or all have as much as they may. They
// wait in the queue of their backend and are woken by a change of its endpoints, never by looking again and again.
//
// Before: gate/exchanges (choose). Next: gate/exchanges (choose) again, or an answer.
#include <algorithm>

#include "gate/endpoints.h"
#include "gate/exchanges.h"

namespace ebb::gate {

using base::Cause;
using base::Handle;
using lifecycle::Standing;
using reactor::Receive;

namespace {

constexpr base::Duration verdict_wait =
    std::chrono::milliseconds{250};  // there is none where `evidence.connect` is off

}  // namespace

BackendView& Exchanges::view_of(const Exchange& exchange) {
  return core_.endpoints->view(exchange.snapshot->views[exchange.backend_index]);
}

void Exchanges::hold(Exchange& exchange) {
  const routes::QueueModel& queue = exchange.snapshot->snapshot().backends()[exchange.backend_index].model.queue;
  const base::Instant now = core_.reactor.now();
  BackendView& view = view_of(exchange);
  if (queue.limit == 0 || unattended(exchange) || core_.stopping) {
    return fail(exchange, Event::failed, exchange.last_failure);
  }
  // However often it is woken in vain. The time of a try in between is not time in the queue.
  if (exchange.held >= queue.timeout) return fail(exchange, Event::failed, exchange.last_failure);
  if (!view.queue.push(exchange.route, exchange.self, queue.limit)) {
    return fail(exchange, Event::failed, Cause::queue_full);
  }
  const bool crowded = std::any_of(view.endpoints.begin(), view.endpoints.end(), [this](Handle handle) {
    const EndpointState* endpoint = core_.endpoints->find(handle);
    return endpoint != nullptr && endpoint->standing() != Standing::unavailable;
  });
  if (crowded && exchange.last_failure == Cause::backend_empty) exchange.last_failure = Cause::queue_timeout;
  if (exchange.held_since == base::Instant{}) view.held_ever += 1;
  step(exchange, Event::hold);
  end_try(exchange);
  exchange.held_by = core_.endpoints->version();
  exchange.held_since = now;
  if (!exchange.request_whole) exchange.front->receive(exchange.client, Receive::paused);
  core_.reactor.timers().arm(exchange.timer, std::min(now + queue.timeout - exchange.held, exchange.deadline));
}

void Exchanges::leave_queue(const Exchange& exchange) { view_of(exchange).queue.remove(exchange.self); }

void Exchanges::hold_expired(Exchange& exchange) {
  view_of(exchange).hold_timeouts += 1;
  fail(exchange, Event::deadline, exchange.last_failure);
}

void Exchanges::serve_held() {
  for (const Handle woken : core_.endpoints->take_woken()) {
    BackendView* view = core_.endpoints->find_view(woken);
    if (view == nullptr) continue;
    // As many as wait now: one that finds nothing waits again, at the end.
    for (std::size_t left = view->queue.size(); left > 0 && core_.endpoints->has_room(*view); --left) {
      Exchange* exchange = live(view->queue.pop());
      if (exchange == nullptr) continue;
      step(*exchange, Event::woken);
      exchange->held += core_.reactor.now() - exchange->held_since;
      exchange->timer.disarm();
      // What could not be reached may be there again, but not before anything is known about it: the verdict may be on
      // its way from another worker.
      const bool changed = exchange->held_by != core_.endpoints->version();
      if (changed || core_.reactor.now() - exchange->held_since >= verdict_wait) exchange->tried.clear();
      choose(*exchange);
    }
  }
}

}  // namespace ebb::gate
