// Exchanges that leave an endpoint before it has failed them: it does not answer the connection attempt, or it answers
// nobody; and those that go to a silent one, to see whether it is back.
//
// Before: gate/exchanges (choose), gate/health. Next: gate/exchanges (retry_or_fail).
#include <algorithm>

#include "gate/endpoints.h"
#include "gate/exchanges.h"
#include "gate/health.h"

namespace ebb::gate {

using base::Cause;
using base::Handle;
using lifecycle::Standing;

// Only what can be repeated elsewhere, whole, when no answer comes.
Handle Exchanges::trial_for(Exchange& exchange, bool bound) {
  exchange.on_trial = false;
  const bool fit = exchange.tries == 0 && !bound && exchange.request_whole && exchange.replayable &&
                   !exchange.bytes_only && !exchange.upgrade_asked && wire::idempotent(exchange.method) &&
                   retries(exchange) > 0;
  if (!fit) return {};
  const Handle chosen = core_.health->trial(exchange.snapshot->views[exchange.backend_index]);
  exchange.on_trial = static_cast<bool>(chosen);
  return chosen;
}

bool Exchanges::could_serve(const Exchange& exchange, Handle but) {
  const std::vector<Handle>& all = view_of(exchange).endpoints;
  return std::any_of(all.begin(), all.end(), [&](Handle handle) {
    const EndpointState& endpoint = *core_.endpoints->find(handle);
    const bool tried = std::find(exchange.tried.begin(), exchange.tried.end(), handle) != exchange.tried.end();
    return handle != but && !tried && endpoint.weight > 0 && endpoint.standing() == Standing::chosen &&
           core_.endpoints->has_room(endpoint);
  });
}

// The attempt goes on without it; whoever comes next may find a connection in the pool.
void Exchanges::move_on(Exchange& exchange) {
  exchange.move_on = base::Instant::max();
  if (!could_serve(exchange, exchange.endpoint)) return arm_for_deadline(exchange);
  exchange.back->leave(exchange.backend);
  exchange.backend = {};
  retry_or_fail(exchange, Cause::backend_connect_timeout, lifecycle::Delivery::unknown);
}

void Exchanges::leave_silent(Handle endpoint, base::Duration patience, base::Instant flowing_since) {
  const base::Instant now = core_.reactor.now();
  std::vector<Handle> ending;
  exchanges_.for_each([&](Handle handle, const Exchange& exchange) {
    if (exchange.endpoint != endpoint || exchange.on_trial) return;
    const bool waits = exchange.life.is(State::awaiting) && !exchange.response_bytes;
    const bool flowed = (response_has_begun(exchange) || exchange.life.is(State::tunnelling)) &&
                        exchange.heard >= flowing_since && now - exchange.heard > patience;
    const bool repeatable = wire::idempotent(exchange.method) && exchange.replayable;
    // What it has not got whole it cannot have answered: a long body may still be on its way.
    const auto ignored = [&] { return now - exchange.asked > patience && exchange.back->delivered(exchange.backend); };
    if (flowed || (waits && (repeatable || ignored()))) ending.push_back(handle);
  });
  for (const Handle handle : ending) {
    Exchange* exchange = live(handle);
    if (exchange == nullptr) continue;
    if (exchange->backend) exchange->back->cancel(exchange->backend, Cause::backend_silent);
    on_backend_failed(handle, Cause::backend_silent);
  }
}

}  // namespace ebb::gate
