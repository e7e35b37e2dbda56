#include "gate/exchanges.h"

#include "base/assert.h"
#include "gate/attempts.h"
#include "gate/compression.h"
#include "gate/held_requests.h"
#include "gate/mirrors.h"
#include "gate/moves.h"
#include "gate/own_answer.h"
#include "gate/records.h"
#include "gate/tunnel.h"
#include "gate/witnesses.h"

namespace ebb::gate {

using base::Cause;
using base::Handle;
using lifecycle::ClientSide;
using lifecycle::ToBackend;
using lifecycle::ToClient;
using Event = lifecycle::ExchangeLife::Event;
using State = lifecycle::ExchangeLife::State;

Exchange& Exchanges::add(Front& front, Handle client, const SnapshotRef& snapshot) {
  const Handle self = exchanges_.emplace();
  Exchange& exchange = *exchanges_.find(self);
  exchange.self = self;
  exchange.front = &front;
  exchange.client = client;
  exchange.timer.set_owner({owner_exchange, self});
  exchange.snapshot = snapshot;
  exchange.account.started = exchange.account.handed_over = exchange.account.first_byte = core_.reactor.now();
  return exchange;
}

void Exchanges::step(Exchange& exchange, Event event) {
  const lifecycle::ExchangeMachine::Step step = exchange.life.step(event);
  if (!step) return broken_.add(core_, exchange.self);
  if (!step.actions.empty()) perform(exchange, step.actions);
}

void Exchanges::perform(Exchange& exchange, lifecycle::ExchangeMachine::Actions actions) {
  using Action = lifecycle::ExchangeAction;
  if (actions.has(Action::leave_queue)) core_.held->leave(exchange);
  if (actions.has(Action::disarm)) exchange.timer.disarm();
  if (actions.has(Action::drop_attempt)) core_.attempts->drop(exchange);
  if (actions.has(Action::rewind)) exchange.request.rewind();
  if (actions.has(Action::forget_request)) {
    exchange.request.kept.clear();
    if (!exchange.mirrored()) exchange.request.head = {};
  }
  if (actions.has(Action::pause_client) && !exchange.request.whole()) {
    exchange.front->receive(exchange.client, reactor::Receive::paused);
  }
  if (actions.has(Action::release_memory)) {
    exchange.request.body.clear();
    exchange.request.kept.clear();
    exchange.response.out.clear();
    if (exchange.compresses()) end_compression(core_, exchange);
    exchange.applied.reset();
  }
  if (actions.has(Action::bury)) dead_.push_back(exchange.self);
}

// The backend first: what it gives back may serve the client's next request. The record comes before the client is let
// go, which may ask again at once.
void Exchanges::finish(Exchange& exchange, Cause cause, ClientSide client) {
  const bool whole = exchange.request.whole();
  const bool call_is_late = cause == Cause::request_timeout && exchange.request.grpc;
  const bool has_answer = exchange.request.wants != Wants::bytes &&
                          (base::facts(cause).status != 0 || (cause == Cause::completed && exchange.answered_here()));
  const lifecycle::Ending ending =
      lifecycle::ending({.state = exchange.life.state(),
                         .client = client,
                         .response_whole = exchange.response.life.is(lifecycle::ResponseHalfLife::State::whole),
                         .has_answer = has_answer,
                         .takes_trailers = call_is_late && exchange.front->takes_trailers(exchange.client)});
  if (cause != Cause::completed && gives_up(exchange, cause, client)) core_.moves->note_given_up(exchange);
  tell_backend(exchange, ending.backend, cause);
  if (ending.client == ToClient::answer) answer(exchange, cause);
  if (ending.client == ToClient::trailers && !add_late_trailers(exchange, cause)) return;
  if (const ClientConnection* told = exchange.front->connection(exchange.client); told != nullptr) {
    core_.records->ended(exchange, *told, cause);
  }
  if (exchange.front == core_.mirrors) core_.mirrors->ended(cause);
  if (exchange.front == core_.witnesses) core_.witnesses->forget(exchange.self);
  step(exchange, exchange.request.life, lifecycle::RequestHalfLife::Event::end);
  step(exchange, exchange.response.life, lifecycle::ResponseHalfLife::Event::end);
  step(exchange, Event::end);
  switch (ending.client) {
    case ToClient::nothing:
    case ToClient::answer: return;  // Front::answer() has let it go
    case ToClient::trailers:
    case ToClient::release: return exchange.front->release(exchange.client, whole);
    case ToClient::cut: return exchange.front->cut(exchange.client, cause);
    case ToClient::close_tunnel: return exchange.front->close_tunnel(exchange.client, cause);
  }
}

// A wait for an answer that ends without one is evidence; of a witness it was told before, but for its own deadline.
bool Exchanges::gives_up(const Exchange& exchange, Cause cause, ClientSide client) const {
  if (client != ClientSide::waits) return exchange.front != core_.witnesses;
  return cause == Cause::request_timeout || cause == Cause::backend_response_timeout;
}

void Exchanges::tell_backend(Exchange& exchange, ToBackend how, Cause cause) {
  if (!exchange.attempt || !exchange.attempt->end) return;
  Back& back = *exchange.attempt->back;
  const Handle end = std::exchange(exchange.attempt->end, {});
  switch (how) {
    case ToBackend::cancel: return back.cancel(end, cause);
    case ToBackend::release: return back.release(end, exchange.request.whole());
    case ToBackend::close_tunnel: return back.close_tunnel(end, cause);
  }
}

// False: saying it has shown that the client is gone, which has ended the exchange.
bool Exchanges::add_late_trailers(Exchange& exchange, Cause cause) {
  exchange.front->send_end(exchange.client, grpc_trailers(cause), std::move(exchange.response.out));
  return !exchange.life.ended();
}

void Exchanges::answer(Exchange& exchange, Cause cause) {
  if (exchange.front->connection(exchange.client) == nullptr) return;
  const AppliedPolicy* applied = exchange.applied.get();
  OwnAnswer own = own_answer(cause, exchange.request.method, exchange.request.whole());
  if (cause == Cause::completed) {  // the route's own
    own.words = {};
    own.status = applied->status;
    own.location = applied->location;
    own.says_methods = applied->says_methods;
  } else {
    own.grpc = exchange.request.grpc;
    if (applied != nullptr) own.retry_after = applied->retry_after;
    if (const routes::Policy* policy = exchange.policy(); policy != nullptr) {
      own.body = routes::error_body(policy->model.errors, static_cast<std::uint16_t>(own.status));
    }
  }
  if (applied != nullptr) own.changes = &applied->response;
  exchange.response.status = static_cast<std::uint16_t>(own.status);
  exchange.response.own_bytes = exchange.front->answer(exchange.client, own);
}

void Exchanges::on_client_left(Handle handle, Cause cause) {
  if (Exchange* exchange = live(handle); exchange != nullptr) finish(*exchange, cause, ClientSide::left);
}

namespace {

// A client of plain TCP may have sent all that it has. One of TLS that is passed through has to say more before its
// endpoint can answer.
bool may_wait_half_closed(const Exchange& exchange) {
  return exchange.request.wants == Wants::bytes &&
         (exchange.route == nullptr || exchange.route->model.tls != routes::TlsMode::passthrough);
}

}  // namespace

bool Exchanges::ends_with_client(Handle handle) {
  const Exchange* exchange = live(handle);
  return exchange != nullptr && !may_wait_half_closed(*exchange) && !exchange->life.is(State::tunnelling);
}

void Exchanges::on_client_finished(Handle handle, bool half_closes) {
  Exchange* exchange = live(handle);
  if (exchange == nullptr) return;
  if (exchange->life.is(State::tunnelling)) return core_.tunnel->on_client_finished(*exchange);
  if (may_wait_half_closed(*exchange)) return;  // the tunnel will pass it on
  // A half-close after a whole request is legal, but those who do it are few, and those who leave are many.
  if (half_closes && exchange->request.whole()) return;
  finish(*exchange, Cause::client_aborted, ClientSide::leaves);
}

bool Exchanges::end_broken() {
  const std::vector<Handle> all = broken_.take();
  for (const Handle handle : all) {
    if (Exchange* exchange = live(handle); exchange != nullptr) finish(*exchange, Cause::internal, ClientSide::leaves);
  }
  return !all.empty();
}

void Exchanges::bury() {
  for (const Handle handle : dead_) {
    const Exchange& exchange = *exchanges_.find(handle);
    EBB_ASSERT(exchange.life.ended() && exchange.request.life.ended() && exchange.response.life.ended());
    EBB_ASSERT(!exchange.attempt && !exchange.timer.armed());
    EBB_ASSERT(exchange.request.body.empty() && exchange.request.kept.empty() && exchange.response.out.empty());
    exchanges_.erase(handle);
  }
  dead_.clear();
}

}  // namespace ebb::gate
