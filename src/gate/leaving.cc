// Exchanges that leave an endpoint before it has failed them: it does not answer the connection attempt, or it answers
// nobody; and those that go to a silent one, to see whether it is back.
//
// Only requests that can be repeated elsewhere leave. That an endpoint says nothing never ends a request: slow is not
// dead (docs/decisions/0013-slow-is-not-dead.md).
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
  const auto trial = core_.health->trial(exchange.snapshot->views[exchange.backend_index], exchange.kind);
  if (!trial) return {};
  exchange.on_trial = true;
  exchange.trial = trial->plan;
  return trial->endpoint;
}

// Now. One that leaves does where no other is left.
bool Exchanges::could_serve(const Exchange& exchange, Handle but) {
  const std::vector<Handle>& all = view_of(exchange).endpoints;
  return std::any_of(all.begin(), all.end(), [&](Handle handle) {
    const EndpointState* endpoint = core_.endpoints->find(handle);
    const bool tried = std::find(exchange.tried.begin(), exchange.tried.end(), handle) != exchange.tried.end();
    return endpoint != nullptr && handle != but && !tried && endpoint->weight > 0 &&
           endpoint->standing() <= Standing::leaving && core_.endpoints->has_room(*endpoint);
  });
}

// No answer to SYN. A handshake, of TLS or HTTP/2, that takes its time says nothing about the host.
void Exchanges::note_slow_connect(const Exchange& exchange) {
  const EndpointState* endpoint = core_.endpoints->find(exchange.endpoint);
  if (endpoint != nullptr && exchange.back->unanswered(exchange.backend)) core_.health->connect_slow(*endpoint);
}

// The attempt goes on without it; whoever comes next may find a connection in the pool.
void Exchanges::move_on(Exchange& exchange) {
  exchange.move_on = base::Instant::max();
  note_slow_connect(exchange);
  if (!could_serve(exchange, exchange.endpoint)) return arm_for_deadline(exchange);
  exchange.back->leave(exchange.backend);
  exchange.backend = {};
  retry_or_fail(exchange, Cause::backend_connect_timeout, lifecycle::Delivery::unknown);
}

// Whether another endpoint can be asked instead, now. Once: a request that two endpoints in turn do not answer is slow,
// or harmful, and would go on to block them all. Retries that are used up, or that the budget refuses, leave the
// request where it is: it must not fail because its endpoint is doubted.
bool Exchanges::may_move(const Exchange& exchange) {
  const bool repeatable = wire::idempotent(exchange.method) && exchange.replayable;
  const std::uint32_t tries = std::uint32_t{exchange.tries} - exchange.unreached;
  return waits_for_answer(exchange) && repeatable && !exchange.left_silence && tries <= retries(exchange) &&
         retries(exchange) > 0 && view_of(exchange).retry_budget.allows(core_.reactor.now()) &&
         could_serve(exchange, exchange.endpoint);
}

void Exchanges::move_away(Exchange& exchange, Leaves leaves) {
  exchange.left_silence = true;
  // An attempt to connect goes on: that it is never answered is evidence of the transport, which silence is not.
  if (exchange.backend && exchange.life.is(State::connecting)) {
    exchange.back->leave(exchange.backend);
  } else if (exchange.backend && (leaves == Leaves::nothing || !leave_witness(exchange))) {
    exchange.back->cancel(exchange.backend, Cause::backend_silent);
  }
  exchange.backend = {};
  retry_or_fail(exchange, Cause::backend_silent, lifecycle::Delivery::unknown);
}

std::uint32_t Exchanges::move_away(std::span<const Handle> leaving) {
  std::uint32_t moved = 0;
  for (const Handle handle : leaving) {
    Exchange* exchange = live(handle);
    if (exchange == nullptr || !may_move(*exchange)) continue;
    moved += 1;
    move_away(*exchange);
  }
  return moved;
}

bool Exchanges::compare(Handle endpoint, Handle handle, const lifecycle::TrialPlan& plan) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr || !may_move(*exchange)) return false;
  move_away(*exchange, Leaves::witness);
  compare_next(handle, endpoint, plan);
  return true;
}

// Of one that moves the next endpoint tells.
void Exchanges::note_given_up(const Exchange& exchange) {
  EndpointState* endpoint = core_.endpoints->find(exchange.endpoint);
  if (endpoint == nullptr || !waits_for_answer(exchange)) return;
  core_.health->given_up(*endpoint, exchange.kind, exchange.asked);
}

// No answer came in the time of the trial. The request goes elsewhere, or waits on if nobody else can take it. Where
// all are silent that says nothing: unless others have answered meanwhile, the one that it goes to has to answer first.
void Exchanges::fail_trial(Exchange& exchange) {
  const Handle endpoint = exchange.endpoint;
  const lifecycle::TrialPlan plan = exchange.trial;
  const bool connecting = exchange.life.is(State::connecting);
  const bool proven = connecting || core_.health->others_answer(endpoint, exchange.try_began);
  if (proven) core_.health->trial_failed(endpoint, plan);
  if (connecting ? !could_serve(exchange, endpoint) : !may_move(exchange)) return end_trial(exchange);
  if (EndpointState* silent = core_.endpoints->find(endpoint); silent != nullptr) silent->tally.moved += 1;
  const Handle self = exchange.self;
  move_away(exchange, Leaves::witness);
  if (!proven) compare_next(self, endpoint, plan);
}

// The answer of the endpoint that it goes to tells.
void Exchanges::compare_next(Handle handle, Handle silent, const lifecycle::TrialPlan& plan) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr) return;
  exchange->compared = silent;
  exchange->trial = plan;
}

}  // namespace ebb::gate
