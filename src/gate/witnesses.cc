#include "gate/witnesses.h"

#include "gate/bonds.h"
#include "gate/deadlines.h"
#include "gate/endpoints.h"
#include "gate/exchanges.h"

namespace ebb::gate {

using base::Cause;
using base::Handle;

// A draining endpoint is not kept waiting for an answer that nobody needs, a full one has no room for it, and an old
// write must not be carried out after a newer one that went elsewhere.
void Witnesses::take_over(Exchange& exchange) {
  LiveEndpoint* endpoint = core_.endpoints->find(exchange.endpoint());
  const bool harmless = wire::safe(exchange.request.method) && !exchange.request.upgrades() && !core_.stopping;
  if (!harmless || endpoint == nullptr || endpoint->draining() || core_.endpoints->full(*endpoint)) return;
  begin(exchange, *endpoint);
}

void Witnesses::begin(Exchange& original, LiveEndpoint& endpoint) {
  Exchange& witness = core_.exchanges->add(*this, {}, original.snapshot);
  witness.route = original.route;
  witness.backend_index = original.backend_index;
  witness.request.method = original.request.method;
  witness.request.kind = original.request.kind;
  witness.request.replayable = false;
  if (const lifecycle::ClientKey key = key_of(original); key != lifecycle::unbound) witness.hash_key = key;
  witness.tries.count = 1;
  witness.account.reused = original.account.reused;
  witness.account.handed_over = original.account.handed_over;
  witness.attempt = original.attempt;
  witness.attempt->trial.reset();
  witness.attempt->deadline = base::Instant::max();
  witness.deadline = std::min(original.deadline, core_.reactor.now() + response_timeout(witness));
  core_.endpoints->attach_witness(endpoint);
  core_.exchanges->step(witness, witness.request.life, lifecycle::RequestHalfLife::Event::whole);
  core_.exchanges->step(witness, lifecycle::ExchangeLife::Event::attempt);
  if (!witness.attempt->back->hand_over(witness.attempt->end, witness.self)) {
    witness.attempt->end = {};
    return core_.exchanges->finish(witness, Cause::backend_silent);
  }
  original.attempt->end = {};
  core_.deadlines->moved(witness);
  all_.push_back({endpoint.self, witness.self});
  const std::vector<Handle> here = of(endpoint.self);
  if (here.size() > per_endpoint_max) core_.exchanges->on_client_left(here.front(), Cause::backend_silent);
}

void Witnesses::end(Handle endpoint, Cause cause) {
  for (const Handle handle : of(endpoint)) core_.exchanges->on_client_left(handle, cause);
}

}  // namespace ebb::gate
