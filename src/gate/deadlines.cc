// How long an exchange may take: as a whole, one try of it, and between two pieces of a body or of a tunnel. An
// exchange has one timer, armed for the earliest of them.
//
// Before: gate/policy_path. Next: gate/exchanges (retry_or_fail, fail).
#include <algorithm>

#include "gate/endpoints.h"
#include "gate/exchanges.h"
#include "gate/own_answer.h"

namespace ebb::gate {

using base::Cause;

namespace {

const routes::RouteTimeouts* timeouts_of(const Exchange& exchange) {
  const bool has = exchange.route != nullptr && exchange.route->policy != nullptr;
  return has ? &exchange.route->policy->model.timeouts : nullptr;
}

base::Duration or_else(base::Duration chosen, base::Duration otherwise) {
  return chosen > base::Duration::zero() ? chosen : otherwise;
}

}  // namespace

// The global ones where the route has none of its own.
Exchanges::ProgressLimits Exchanges::progress_limits(const Exchange& exchange) const {
  const routes::Timeouts& global = exchange.snapshot->model().timeouts;
  const routes::RouteTimeouts* own = timeouts_of(exchange);
  if (own == nullptr) return {global.client_body, global.backend_body, global.tunnel_idle};
  return {or_else(own->idle, global.client_body), or_else(own->idle, global.backend_body),
          or_else(own->tunnel_idle, global.tunnel_idle)};
}

// Of a route with shares, the backend that was chosen has the word.
base::Duration Exchanges::response_timeout(const Exchange& exchange) const {
  const routes::Route& route = *exchange.route;
  if (route.shares == nullptr) return route.response_timeout;
  return or_else(route.model.timeout,
                 exchange.snapshot->snapshot().backends()[exchange.backend_index].model.response_timeout);
}

std::uint32_t Exchanges::retries(const Exchange& exchange) const {
  if (unattended(exchange)) return 0;
  const routes::BackendModel& backend = exchange.snapshot->snapshot().backends()[exchange.backend_index].model;
  return exchange.route == nullptr ? backend.retries : exchange.route->model.retries.value_or(backend.retries);
}

void Exchanges::begin_try(Exchange& exchange) {
  exchange.try_began = core_.reactor.now();
  exchange.heard = {};
  limit_try(exchange);
}

void Exchanges::limit_try(Exchange& exchange) {
  const routes::RouteTimeouts* own = timeouts_of(exchange);
  const bool limited = own != nullptr && own->attempt > base::Duration::zero();
  exchange.try_deadline = limited ? exchange.try_began + own->attempt : base::Instant::max();
  exchange.trial_until = exchange.on_trial ? exchange.try_began + exchange.trial.time : base::Instant::max();
}

// Its limits end with it: what waits for an endpoint is in no try.
void Exchanges::end_try(Exchange& exchange) {
  exchange.on_trial = false;
  exchange.try_deadline = exchange.trial_until = exchange.move_on = base::Instant::max();
}

// From now on it is a request like others: the endpoint has answered, and that was the question; or nobody else can
// take it. The rest takes as long as it takes.
void Exchanges::end_trial(Exchange& exchange) {
  exchange.on_trial = false;
  exchange.trial_until = base::Instant::max();
  if (!exchange.life.is(State::connecting)) return arm_for_state(exchange);
  exchange.timer.disarm();
  arm_for_deadline(exchange);
}

// While a connection is being established its own timer runs, unless ours ends before it.
void Exchanges::arm_for_deadline(Exchange& exchange) {
  const base::Instant earlier =
      std::min({exchange.deadline, exchange.try_deadline, exchange.trial_until, exchange.move_on});
  if (earlier != base::Instant::max()) core_.reactor.timers().arm(exchange.timer, earlier);
}

// What was a request is a tunnel now; its age is another matter.
void Exchanges::begin_tunnel_age(Exchange& exchange) {
  const routes::RouteTimeouts* own = timeouts_of(exchange);
  const bool limited = own != nullptr && own->tunnel_age > base::Duration::zero();
  exchange.deadline = limited ? core_.reactor.now() + own->tunnel_age : base::Instant::max();
  exchange.try_deadline = exchange.trial_until = base::Instant::max();
}

// True: a deadline has come, and the exchange, or this try, is over.
bool Exchanges::end_if_overdue(Exchange& exchange) {
  const base::Instant now = core_.reactor.now();
  if (now >= exchange.deadline) {
    if (exchange.life.is(State::tunnelling)) {
      close_tunnel(exchange, Cause::tunnel_max_age);
    } else if (has_place_for_status(exchange)) {
      end_call(exchange, Cause::request_timeout);
    } else {
      fail(exchange, Event::deadline, Cause::request_timeout);
    }
    return true;
  }
  if (now < exchange.try_deadline) {
    if (now < exchange.trial_until) return false;
    fail_trial(exchange);
    return true;
  }
  if (response_has_begun(exchange)) {
    cut_short(exchange, Cause::try_timeout);
    return true;
  }
  if (exchange.backend) exchange.back->cancel(exchange.backend, Cause::try_timeout);
  exchange.backend = {};
  retry_or_fail(exchange, Cause::try_timeout, lifecycle::Delivery::unknown);
  return true;
}

// A response of gRPC that has begun: its trailers.
bool Exchanges::has_place_for_status(const Exchange& exchange) const {
  return exchange.grpc && response_has_begun(exchange) && exchange.front->takes_trailers(exchange.client);
}

void Exchanges::end_call(Exchange& exchange, Cause cause) {
  if (exchange.backend) exchange.back->cancel(exchange.backend, cause);
  exchange.backend = {};
  exchange.front->add_end(exchange.client, grpc_trailers(cause), exchange.to_client);
  if (!flush(exchange)) return;
  step(exchange, Event::deadline);
  end(exchange, cause);
  exchange.front->release(exchange.client, exchange.request_whole);
}

}  // namespace ebb::gate
