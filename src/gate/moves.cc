#include "gate/moves.h"

#include <algorithm>

#include "gate/attempts.h"
#include "gate/deadlines.h"
#include "gate/endpoints.h"
#include "gate/tunnel.h"
#include "gate/witnesses.h"

namespace ebb::gate {

using base::Cause;
using base::Handle;
using lifecycle::Standing;
using State = lifecycle::ExchangeLife::State;

// Now. One that leaves does where no other is left.
bool Moves::could_serve(const Exchange& exchange, Handle but) {
  const std::vector<Handle>& all = core_.endpoints->view(exchange.view()).endpoints;
  const std::vector<Handle>& tried = exchange.tries.tried;
  return std::any_of(all.begin(), all.end(), [&](Handle handle) {
    const LiveEndpoint* endpoint = core_.endpoints->find(handle);
    return endpoint != nullptr && handle != but && std::find(tried.begin(), tried.end(), handle) == tried.end() &&
           endpoint->weight > 0 && endpoint->standing() <= Standing::leaving && core_.endpoints->has_room(*endpoint);
  });
}

void Moves::move_on(Exchange& exchange) {
  Attempt& attempt = *exchange.attempt;
  const LiveEndpoint* endpoint = core_.endpoints->find(attempt.endpoint);
  // No answer to SYN. A handshake, of TLS or HTTP/2, that takes its time says nothing about the host.
  if (endpoint != nullptr && attempt.back->unanswered(attempt.end)) core_.health->connect_slow(*endpoint);
  const bool may_leave = core_.attempts->retries(exchange) > 0 && could_serve(exchange, attempt.endpoint);
  if (!may_leave) return core_.deadlines->wait_for_connection(exchange);
  attempt.back->leave(std::exchange(attempt.end, {}));
  core_.attempts->retry_or_finish(exchange, Cause::backend_connect_timeout, lifecycle::Delivery::unknown);
}

// Whether another endpoint can be asked instead, now. Once: a request that two endpoints in turn do not answer is slow,
// or harmful, and would go on to block them all. Retries that are used up, or that the budget refuses, leave the
// request where it is: it must not fail because its endpoint is doubted.
bool Moves::may_move(const Exchange& exchange) {
  const std::uint32_t retries = core_.attempts->retries(exchange);
  return exchange.waits_for_answer() && exchange.request.repeatable() && !exchange.tries.left_silence &&
         exchange.tries.counted() <= retries && retries > 0 &&
         core_.endpoints->view(exchange.view()).retry_budget.allows(core_.reactor.now()) &&
         could_serve(exchange, exchange.endpoint());
}

void Moves::move_away(Exchange& exchange, Leaves leaves) {
  exchange.tries.left_silence = true;
  Attempt& attempt = *exchange.attempt;
  if (attempt.end && attempt.connecting()) {
    // It goes on: that it is never answered is evidence of the transport, which silence is not.
    attempt.back->leave(std::exchange(attempt.end, {}));
  } else if (leaves == Leaves::witness) {
    core_.witnesses->take_over(exchange);
  }
  core_.attempts->give_up(exchange, Cause::backend_silent);
}

std::uint32_t Moves::leave_silent(std::span<const Handle> leaving) {
  std::uint32_t moved = 0;
  for (const Handle handle : leaving) {
    Exchange* exchange = core_.exchanges->live(handle);
    if (exchange == nullptr || !may_move(*exchange)) continue;
    moved += 1;
    move_away(*exchange, Leaves::nothing);
  }
  return moved;
}

bool Moves::compare(Handle endpoint, Handle handle, const lifecycle::TrialPlan& plan) {
  Exchange* exchange = core_.exchanges->live(handle);
  if (exchange == nullptr || !may_move(*exchange)) return false;
  move_away(*exchange, Leaves::witness);
  compare_next(handle, endpoint, plan);
  return true;
}

// The answer of the endpoint that it goes to tells.
void Moves::compare_next(Handle handle, Handle silent, const lifecycle::TrialPlan& plan) {
  Exchange* exchange = core_.exchanges->live(handle);
  if (exchange != nullptr) exchange->tries.comparison = Comparison{silent, plan};
}

// It has answered as soon as requests of its kind are: that the request was slow is no excuse for the first one.
void Moves::note_comparison(Exchange& exchange) {
  const std::optional<Comparison> comparison = std::exchange(exchange.tries.comparison, std::nullopt);
  if (!comparison || core_.reactor.now() - exchange.attempt->began > comparison->plan.time) return;
  core_.health->trial_failed(comparison->silent, comparison->plan);
}

// Of one that moves the next endpoint tells.
void Moves::note_given_up(const Exchange& exchange) {
  if (!exchange.waits_for_answer()) return;
  LiveEndpoint* endpoint = core_.endpoints->find(exchange.endpoint());
  if (endpoint != nullptr) core_.health->given_up(*endpoint, exchange.request.kind, exchange.attempt->asked);
}

// The request goes elsewhere, or waits on if nobody else can take it. Where all are silent that says nothing: unless
// others have answered meanwhile, the one that it goes to has to answer first.
void Moves::fail_trial(Exchange& exchange) {
  const Handle self = exchange.self;
  const Handle endpoint = exchange.endpoint();
  const lifecycle::TrialPlan plan = exchange.attempt->trial->plan;
  const bool connecting = exchange.attempt->connecting();
  const bool proven = connecting || core_.health->others_answer(endpoint, exchange.attempt->began);
  if (proven) core_.health->trial_failed(endpoint, plan);
  if (connecting ? !could_serve(exchange, endpoint) : !may_move(exchange)) return core_.deadlines->end_trial(exchange);
  if (LiveEndpoint* silent = core_.endpoints->find(endpoint); silent != nullptr) silent->tally.moved += 1;
  move_away(exchange, Leaves::witness);
  if (!proven) compare_next(self, endpoint, plan);
}

std::uint32_t Moves::end_work(Handle endpoint, Cause cause) {
  const LiveEndpoint* state = core_.endpoints->find(endpoint);
  const bool silent = state != nullptr && state->doubt != lifecycle::Doubt::none && cause == Cause::drain_deadline;
  std::uint32_t cut = 0;
  const std::vector<Handle> all =
      core_.exchanges->those([endpoint](const Exchange& exchange) { return exchange.endpoint() == endpoint; });
  for (const Handle handle : all) {
    Exchange* exchange = core_.exchanges->live(handle);
    if (exchange == nullptr || exchange->endpoint() != endpoint) continue;
    // Nothing of it was sent, or the endpoint is doubted and has not answered: another may take it.
    const bool unheard = silent && exchange->waits_for_answer() && could_serve(*exchange, endpoint);
    if (exchange->attempt->connecting() || unheard) {
      core_.attempts->give_up(*exchange, cause);
      cut += unheard && core_.exchanges->live(handle) == nullptr ? 1 : 0;
      continue;
    }
    cut += 1;
    if (exchange->life.is(State::tunnelling)) core_.tunnel->say_goodbye(*exchange);
    if (core_.exchanges->live(handle) != nullptr) core_.exchanges->finish(*exchange, cause);
  }
  return cut;
}

}  // namespace ebb::gate
