// What a request leaves behind when it leaves a silent endpoint as its trial: its first half stays, to hear what the
// endpoint says in the end.
//
// Before: gate/leaving. Next: gate/response_path, for the witness; gate/health hears its answer.
#include "gate/witnesses.h"

#include "gate/endpoints.h"
#include "gate/exchanges.h"

namespace ebb::gate {

using base::Cause;
using base::Handle;

// False: the endpoint's half is as it was. A draining endpoint is not kept waiting for what nobody needs, a full one
// has no room for it, and an old write must not be carried out after a newer one that went elsewhere.
bool Exchanges::leave_witness(Exchange& exchange) {
  if (!wire::safe(exchange.method) || exchange.upgrade_asked || core_.stopping) return false;
  EndpointState* endpoint = core_.endpoints->find(exchange.endpoint);
  if (endpoint == nullptr || endpoint->draining() || core_.endpoints->full(*endpoint)) return false;
  Exchange& witness = add(*core_.witnesses, {}, exchange.snapshot);
  if (!exchange.back->hand_over(exchange.backend, witness.self)) {
    step(witness, Event::failed);
    end(witness, Cause::backend_silent);
    return false;
  }
  core_.endpoints->attach_witness(*endpoint);
  witness.route = exchange.route;
  witness.backend_index = exchange.backend_index;
  witness.method = exchange.method;
  witness.kind = exchange.kind;
  if (const lifecycle::ClientKey key = key_of(exchange); key != lifecycle::unbound) witness.hash_key = key;
  witness.endpoint = exchange.endpoint;
  witness.back = exchange.back;
  witness.backend = std::exchange(exchange.backend, {});
  witness.reused = exchange.reused;
  witness.handed_over = exchange.handed_over;
  witness.asked = exchange.asked;
  witness.heard = exchange.heard;
  witness.place = exchange.place;
  witness.tries = 1;
  witness.replayable = false;
  witness.request_whole = witness.head_sent = witness.end_sent = true;
  witness.deadline = std::min(exchange.deadline, core_.reactor.now() + response_timeout(witness));
  for (const Event event : {Event::connect, Event::lease, Event::request_whole}) step(witness, event);
  arm_for_state(witness);
  core_.witnesses->add(witness.endpoint, witness.self);
  const std::vector<Handle> all = core_.witnesses->of(witness.endpoint);
  if (all.size() > Witnesses::per_endpoint_max) on_client_left(all.front(), Cause::backend_silent);
  return true;
}

void Exchanges::end_witnesses(Handle endpoint, Cause cause) {
  for (const Handle handle : core_.witnesses->of(endpoint)) on_client_left(handle, cause);
}

}  // namespace ebb::gate
