#include "gate/deadlines.h"

#include <algorithm>

#include "gate/attempts.h"
#include "gate/exchanges.h"
#include "gate/held_requests.h"
#include "gate/moves.h"

namespace ebb::gate {

using base::Cause;
using lifecycle::Stage;
using State = lifecycle::ExchangeLife::State;

namespace {

// No answer to the first SYN: the second goes out after 1 s, so that waiting for it is waiting for long.
constexpr base::Duration slow_connect = std::chrono::milliseconds{250};

const routes::RouteTimeouts* timeouts_of(const Exchange& exchange) {
  const routes::Policy* policy = exchange.policy();
  return policy == nullptr ? nullptr : &policy->model.timeouts;
}

base::Duration or_else(base::Duration chosen, base::Duration otherwise) {
  return chosen > base::Duration::zero() ? chosen : otherwise;
}

struct ProgressLimits {
  base::Duration client_body, backend_body, tunnel_idle;
};

// The global ones where the route has none of its own.
ProgressLimits progress_limits(const Exchange& exchange) {
  const routes::Timeouts& global = exchange.snapshot->model().timeouts;
  const routes::RouteTimeouts* own = timeouts_of(exchange);
  if (own == nullptr) return {global.client_body, global.backend_body, global.tunnel_idle};
  return {or_else(own->idle, global.client_body), or_else(own->idle, global.backend_body),
          or_else(own->tunnel_idle, global.tunnel_idle)};
}

// Of the attempt, or of the trial that it is.
base::Instant attempt_limit(const Exchange& exchange) {
  if (!exchange.attempt) return base::Instant::max();
  const Attempt& attempt = *exchange.attempt;
  return attempt.trial ? std::min(attempt.deadline, attempt.trial->until) : attempt.deadline;
}

}  // namespace

base::Duration response_timeout(const Exchange& exchange) {
  const routes::Route& route = *exchange.route;
  if (route.shares == nullptr) return route.response_timeout;
  return or_else(route.model.timeout, exchange.backend().model.response_timeout);
}

void Deadlines::limit_attempt(Exchange& exchange, const std::optional<lifecycle::TrialPlan>& trial) {
  Attempt& attempt = *exchange.attempt;
  const routes::RouteTimeouts* own = timeouts_of(exchange);
  if (own != nullptr && own->attempt > base::Duration::zero()) attempt.deadline = attempt.began + own->attempt;
  if (trial) attempt.trial = Trial{*trial, attempt.began + trial->time};
}

void Deadlines::arm_connecting(Exchange& exchange) {
  exchange.attempt->move_on = core_.reactor.now() + slow_connect;
  arm(exchange, exchange.attempt->move_on);
}

void Deadlines::wait_for_connection(Exchange& exchange) {
  exchange.attempt->move_on = base::Instant::max();
  exchange.timer.disarm();
  arm(exchange, base::Instant::max());
}

void Deadlines::arm_held(Exchange& exchange, base::Instant until) { arm(exchange, until); }

// An answer that has begun already is awaited piece by piece, as any other. Output that waits has just begun to, or was
// taken before: nothing has to be asked.
void Deadlines::asked(Exchange& exchange) {
  exchange.attempt->asked = core_.reactor.now();
  if (exchange.stage() != Stage::awaiting) return moved(exchange);
  exchange.moved = exchange.attempt->asked;
  arm(exchange, exchange.moved + response_timeout(exchange));
}

void Deadlines::moved(Exchange& exchange) {
  exchange.moved = core_.reactor.now();
  arm(exchange, awaited(exchange).end());
}

void Deadlines::arm(Exchange& exchange, base::Instant end_of_wait) {
  const base::Instant next = std::min({end_of_wait, exchange.deadline, attempt_limit(exchange)});
  if (next != base::Instant::max()) core_.reactor.timers().arm(exchange.timer, next);
}

void Deadlines::end_trial(Exchange& exchange) {
  exchange.attempt->trial.reset();
  if (!exchange.attempt->connecting()) return moved(exchange);
  exchange.timer.disarm();
  arm(exchange, exchange.attempt->move_on);
}

void Deadlines::begin_tunnel(Exchange& exchange) {
  const routes::RouteTimeouts* own = timeouts_of(exchange);
  const bool limited = own != nullptr && own->tunnel_age > base::Duration::zero();
  exchange.deadline = limited ? core_.reactor.now() + own->tunnel_age : base::Instant::max();
  exchange.attempt->deadline = base::Instant::max();
  exchange.attempt->trial.reset();
}

// Who is waited for is seen from where bytes are stuck: a side with unsent output is the one that does not read. It has
// its time since it last took a byte; more that is put behind what waits for it does not give it more.
Deadlines::Wait Deadlines::awaited(const Exchange& exchange) const {
  const ProgressLimits limits = progress_limits(exchange);
  const base::Backlog to_client = exchange.front->backlog(exchange.client);
  const base::Backlog to_backend = exchange.attempt && exchange.attempt->end
                                       ? exchange.attempt->back->backlog(exchange.attempt->end)
                                       : base::Backlog{};
  switch (exchange.stage()) {
    case Stage::uploading:
      if (to_backend.bytes > 0) return {response_timeout(exchange), Cause::backend_write_timeout, to_backend.moved};
      return {limits.client_body, Cause::client_body_timeout,
              std::max(exchange.moved, exchange.front->body_came(exchange.client))};
    case Stage::awaiting:
      return {response_timeout(exchange), Cause::backend_response_timeout,
              std::max(exchange.attempt->asked, to_backend.moved)};
    case Stage::crossing:
    case Stage::downloading:
      if (to_client.bytes > 0) {
        return {exchange.snapshot->model().timeouts.client_write, Cause::client_write_timeout, to_client.moved};
      }
      return {limits.backend_body, Cause::backend_body_timeout, std::max(exchange.moved, to_backend.moved)};
    case Stage::tunnelling:
      return {limits.tunnel_idle, Cause::tunnel_idle_timeout,
              std::max({exchange.moved, to_client.moved, to_backend.moved})};
    case Stage::choosing:
    case Stage::held:        // arm_held()
    case Stage::connecting:  // arm_connecting()
    case Stage::ended: break;
  }
  return {{}, Cause::internal, core_.reactor.now()};
}

void Deadlines::on_timer(base::Handle handle) {
  Exchange* exchange = core_.exchanges->live(handle);
  if (exchange == nullptr || end_if_overdue(*exchange)) return;
  if (exchange->life.is(State::held)) return core_.held->expired(*exchange);
  if (exchange->attempt && exchange->attempt->connecting()) return core_.moves->move_on(*exchange);
  const Wait wait = awaited(*exchange);
  // A slow reader, but one that reads.
  if (core_.reactor.now() < wait.end()) return arm(*exchange, wait.end());
  core_.exchanges->finish(*exchange, wait.cause);
}

// True: a deadline has come, and the exchange, or this attempt, is over.
bool Deadlines::end_if_overdue(Exchange& exchange) {
  const base::Instant now = core_.reactor.now();
  if (now >= exchange.deadline) {
    const bool tunnels = exchange.life.is(State::tunnelling);
    core_.exchanges->finish(exchange, tunnels ? Cause::tunnel_max_age : Cause::request_timeout);
    return true;
  }
  if (!exchange.attempt) return false;
  if (now >= exchange.attempt->deadline) {
    if (exchange.life.is(State::answering)) {
      core_.exchanges->finish(exchange, Cause::try_timeout);
    } else {
      core_.attempts->give_up(exchange, Cause::try_timeout);
    }
    return true;
  }
  if (!exchange.attempt->trial || now < exchange.attempt->trial->until) return false;
  core_.moves->fail_trial(exchange);
  return true;
}

}  // namespace ebb::gate
