#include "gate/attempts.h"

#include <algorithm>

#include "gate/balance.h"
#include "gate/bonds.h"
#include "gate/clients.h"
#include "gate/deadlines.h"
#include "gate/exchanges.h"
#include "gate/h2_backends.h"
#include "gate/health.h"
#include "gate/held_requests.h"
#include "gate/moves.h"
#include "gate/request_path.h"
#include "gate/tunnel.h"
#include "gate/witnesses.h"
#include "wire/proxy_protocol.h"

namespace ebb::gate {

using base::Cause;
using base::Handle;
using lifecycle::Delivery;
using lifecycle::RetryVerdict;
using AttemptEvent = lifecycle::AttemptLife::Event;
using Event = lifecycle::ExchangeLife::Event;
using State = lifecycle::ExchangeLife::State;

// A loop, because a connection attempt may fail at once and another endpoint be asked.
void Attempts::begin(Exchange& exchange) {
  for (bool overtaken = false;;) {
    std::optional<Trials::Offer> trial;
    if (!overtaken && may_be_trial(exchange)) trial = core_.health->trial(exchange.view(), exchange.request.kind);
    const Handle chosen = trial ? trial->endpoint : choose(exchange);
    if (!chosen && exchange.life.ended()) return;
    LiveEndpoint* endpoint = core_.endpoints->find(chosen);
    if (endpoint == nullptr) return core_.held->hold(exchange);
    // Full: another worker has taken its last place, so that it is not chosen again.
    overtaken = !core_.endpoints->attach(*endpoint);
    if (overtaken) continue;
    if (try_endpoint(exchange, *endpoint, trial ? std::optional(trial->plan) : std::nullopt)) return;
  }
}

bool Attempts::may_be_trial(const Exchange& exchange) const {
  const Request& request = exchange.request;
  return exchange.tries.count == 0 && !bound_to(exchange) && request.wants == Wants::response && request.whole() &&
         request.repeatable() && retries(exchange) > 0;
}

// One that broke off is asked again, by a fresh connection, when there is no other; one that cannot be reached not, nor
// one whose time is over.
Handle Attempts::choose(Exchange& exchange) {
  Tries& tries = exchange.tries;
  BackendView& view = core_.endpoints->view(exchange.view());
  const routes::BackendModel& model = exchange.backend().model;
  Claim claim{.tried = tries.tried, .key = exchange.hash_key, .bound = bound_to(exchange)};
  const Handle chosen = choose_endpoint(core_, view, model, claim);
  const bool not_again = lifecycle::unreachable(tries.last_failure) || tries.last_failure == Cause::drain_deadline;
  if (chosen || tries.tried.empty() || not_again) return chosen;
  if (tries.counted() > retries(exchange)) {
    core_.exchanges->finish(exchange, tries.last_failure);
    return {};
  }
  claim.tried = {};
  tries.fresh_only = true;
  return choose_endpoint(core_, view, model, claim);
}

bool Attempts::try_endpoint(Exchange& exchange, LiveEndpoint& endpoint,
                            const std::optional<lifecycle::TrialPlan>& trial) {
  const routes::BackendModel& model = exchange.backend().model;
  Tries& tries = exchange.tries;
  if (tries.count == 0) core_.endpoints->view(exchange.view()).retry_budget.began(core_.reactor.now());
  tries.count += 1;
  Attempt& attempt = exchange.attempt.emplace();
  attempt.endpoint = endpoint.self;
  attempt.began = core_.reactor.now();
  core_.exchanges->step(exchange, Event::attempt);
  if (trial || exchange.policy() != nullptr) core_.deadlines->limit_attempt(exchange, trial);
  Back& back = back_for(exchange, endpoint);
  const bool shares = exchange.request.wants != Wants::bytes && model.proxy_protocol == routes::ProxyProtocol::off;
  if (!tries.fresh_only && shares) {
    const Handle pooled = back.lease(endpoint, exchange.self, !wire::idempotent(exchange.request.method));
    if (pooled) {
      attach(exchange, back, pooled, true);
      return true;
    }
  }
  const auto opened = back.open(endpoint.self, exchange.self, target_of(exchange));
  if (opened) {
    attempt.back = &back;
    attempt.end = *opened;
    core_.exchanges->step(exchange, attempt.life, AttemptEvent::connect);
    // The rest of the body waits in the kernel until there is a connection.
    if (!exchange.request.whole()) exchange.front->receive(exchange.client, reactor::Receive::paused);
    core_.deadlines->arm_connecting(exchange);
    return true;
  }
  core_.health->connect_failed(endpoint, opened.error().cause);
  endpoint.tally.connect_failures += 1;
  tries.tried.push_back(endpoint.self);
  tries.last_failure = opened.error().cause;
  core_.exchanges->step(exchange, Event::retry);  // the endpoint may be gone after that
  const bool hopeless = tries.last_failure == Cause::resource_limit || retries(exchange) == 0;
  if (hopeless) {
    core_.exchanges->finish(exchange, tries.last_failure);
    return true;
  }
  // A fault of our own (no socket of that family, a filter of system calls) is a try: it would come again, for ever.
  if (lifecycle::unreachable(tries.last_failure)) tries.unreached += 1;
  core_.counters.retries[static_cast<std::size_t>(tries.last_failure)] += 1;
  return false;
}

BackendTarget Attempts::target_of(const Exchange& exchange) {
  const routes::BackendModel& model = exchange.backend().model;
  // TLS that is passed through is the client's own.
  const bool passed_through = exchange.route != nullptr && exchange.route->model.tls == routes::TlsMode::passthrough;
  BackendTarget target{.model = model,
                       .tls = passed_through ? nullptr : exchange.snapshot->backend_tls(exchange.backend_index),
                       .manner = exchange.snapshot->manners[exchange.backend_index]};
  if (model.proxy_protocol == routes::ProxyProtocol::off) return target;
  wire::ProxyHeader header;
  // A mirror has no client: its connection is the router's own.
  if (const ClientConnection* client = exchange.front->connection(exchange.client); client != nullptr) {
    const base::Address destination =
        client->destination ? *client->destination : core_.reactor.local_address(client->socket);
    if (destination.valid()) header = {.source = client->peer, .destination = destination};
  }
  const bool v1 = model.proxy_protocol == routes::ProxyProtocol::v1;
  target.preface =
      wire::write_proxy_header(core_.reactor.blocks(), v1 ? wire::ProxyVersion::v1 : wire::ProxyVersion::v2, header);
  return target;
}

// `auto` begins with a connection of its own, whose handshake tells what the endpoint speaks; later ones know.
Back& Attempts::back_for(const Exchange& exchange, const LiveEndpoint& endpoint) {
  if (exchange.request.wants == Wants::bytes) return *core_.backends;
  switch (exchange.backend().model.protocol) {
    case routes::BackendProtocol::http1: return *core_.backends;
    case routes::BackendProtocol::h2c:
    case routes::BackendProtocol::h2: return *core_.h2_backends;
    case routes::BackendProtocol::automatic: break;
  }
  if (endpoint.speaks_h2) return *core_.h2_backends;
  return *core_.backends;
}

void Attempts::attach(Exchange& exchange, Back& back, Handle end, bool reused) {
  Attempt& attempt = *exchange.attempt;
  attempt.back = &back;
  attempt.end = end;
  attempt.reused = exchange.account.reused = reused;
  exchange.account.handed_over = core_.reactor.now();
  if (exchange.request.wants == Wants::bytes) return core_.tunnel->begin(exchange);
  core_.exchanges->step(exchange, attempt.life, AttemptEvent::lease);
  core_.request_path->send(exchange, RequestPath::Part::whole);
}

Exchange* Attempts::tried(Handle handle) {
  Exchange* exchange = core_.exchanges->live(handle);
  return exchange != nullptr && exchange->attempt ? exchange : nullptr;
}

void Attempts::on_leased(Handle handle, Back& back, Handle end) {
  Exchange* exchange = tried(handle);
  if (exchange == nullptr) return back.cancel(end, Cause::cancelled);
  attach(*exchange, back, end, false);
}

void Attempts::on_moved(Handle handle, Back& back, Handle end) {
  Exchange* exchange = tried(handle);
  if (exchange == nullptr) return back.cancel(end, Cause::cancelled);
  exchange->attempt->back = &back;
  exchange->attempt->end = end;
}

// The endpoint is well, only its connection takes no more: not a try that failed.
void Attempts::on_backend_full(Handle handle) {
  Exchange* exchange = tried(handle);
  if (exchange == nullptr) return;
  exchange->attempt->end = {};
  exchange->tries.count -= 1;
  core_.exchanges->step(*exchange, Event::retry);
  begin(*exchange);
}

void Attempts::on_backend_failed(Handle handle, Cause cause, Delivery delivery) {
  Exchange* exchange = tried(handle);
  if (exchange == nullptr) return;
  exchange->attempt->end = {};
  if (exchange->life.is(State::trying)) return retry_or_finish(*exchange, cause, delivery);
  core_.exchanges->finish(*exchange, cause);
}

void Attempts::give_up(Exchange& exchange, Cause cause) {
  Attempt& attempt = *exchange.attempt;
  if (const Handle end = std::exchange(attempt.end, {})) attempt.back->cancel(end, cause);
  retry_or_finish(exchange, cause, Delivery::unknown);
}

// No final response has begun, and nothing of the attempt goes on.
void Attempts::retry_or_finish(Exchange& exchange, Cause cause, Delivery delivery) {
  const Attempt& attempt = *exchange.attempt;
  Tries& tries = exchange.tries;
  LiveEndpoint* endpoint = core_.endpoints->find(attempt.endpoint);
  const bool was_sent = !attempt.connecting();
  if (!was_sent && lifecycle::unreachable(cause)) tries.unreached += 1;
  if (cause == Cause::try_timeout) core_.moves->note_given_up(exchange);
  tries.comparison.reset();
  // A witness has told of silence already, and that is what a restart ends.
  const bool broke_off =
      (cause == Cause::backend_reset || cause == Cause::backend_closed) && exchange.front != core_.witnesses;
  if (endpoint != nullptr && was_sent && broke_off && !attempt.reused && !attempt.has_spoken()) {
    core_.health->broke_off(*endpoint, exchange.request.kind, key_of(exchange), cause);
  }
  // The excuse of a reused connection is that the endpoint closed it while we wrote. Silence is no close, nor is the
  // reset of a stream.
  const bool silence = cause == Cause::try_timeout || cause == Cause::backend_ping_timeout ||
                       cause == Cause::backend_dead || cause == Cause::backend_silent || cause == Cause::drain_deadline;
  const lifecycle::RetryFacts facts{
      .response_begun = attempt.has_spoken(),
      .request_sent = was_sent,
      .idempotent = wire::idempotent(exchange.request.method),
      .delivery = delivery,
      .connection_reused = attempt.reused && !silence && cause != Cause::backend_stream_reset,
      .body_replayable = exchange.request.replayable,
      .tries = tries.counted(),
      .tries_max = retries(exchange) + 1};
  const RetryVerdict verdict = lifecycle::may_retry(facts);
  if (verdict == RetryVerdict::no) return core_.exchanges->finish(exchange, cause);
  if (lifecycle::needs_budget(facts) &&
      !core_.endpoints->view(exchange.view()).retry_budget.take(core_.reactor.now())) {
    core_.counters.retries_refused += 1;
    return core_.exchanges->finish(exchange, cause);
  }
  core_.counters.retries[static_cast<std::size_t>(cause)] += 1;
  if (endpoint != nullptr) {
    endpoint->tally.retries += 1;
    if (!was_sent) endpoint->tally.connect_failures += 1;
  }
  if (verdict == RetryVerdict::another_endpoint) tries.tried.push_back(attempt.endpoint);
  tries.last_failure = cause;
  tries.fresh_only = tries.fresh_only || verdict == RetryVerdict::fresh_connection;
  core_.exchanges->step(exchange, Event::retry);
  begin(exchange);
}

void Attempts::drop(Exchange& exchange) {
  if (!exchange.attempt) return;
  core_.exchanges->step(exchange, exchange.attempt->life, AttemptEvent::end);
  const Attempt attempt = *std::exchange(exchange.attempt, std::nullopt);
  exchange.tries.last_endpoint = attempt.endpoint;
  // gate/health only looks now and then.
  if (LiveEndpoint* endpoint = core_.endpoints->find(attempt.endpoint); endpoint != nullptr) {
    endpoint->heard = std::max(endpoint->heard, attempt.heard);
  }
  const bool witness = exchange.front == core_.witnesses;
  core_.endpoints->detach(attempt.endpoint, witness ? Endpoints::Work::of_witness : Endpoints::Work::of_client);
}

std::uint32_t Attempts::retries(const Exchange& exchange) const {
  if (!exchange.front->has_client()) return 0;
  const std::uint32_t of_backend = exchange.backend().model.retries;
  return exchange.route == nullptr ? of_backend : exchange.route->model.retries.value_or(of_backend);
}

}  // namespace ebb::gate
