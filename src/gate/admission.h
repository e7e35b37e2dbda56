// Whether a request may pass, and what its route answers without an endpoint: address lists, rates, CORS, redirects,
// hops, sizes, and the draw among several backends. Marks the exchange (refusal, applied); sends nothing.
//
// Owned by gate/intake.
#pragma once

#include "gate/exchange.h"

namespace ebb::gate {

class Admission {
 public:
  explicit Admission(Core& core) : core_(core) {}

  // Of a route that has a policy.
  void apply_policy(Exchange& exchange, const ClientConnection& client, const wire::RequestHead& head);
  // How often OPTIONS and TRACE may still be forwarded; nothing: no limit. At 0 this router is the one that was asked.
  std::optional<std::uint64_t> limit_hops(Exchange& exchange, const wire::RequestHead& head);
  // The edits of a request that goes to the chosen share; its backend becomes the exchange's. A client that is bound to
  // an endpoint of one is not drawn again.
  const routes::FieldEdits* choose_share(Exchange& exchange, const wire::RequestHead* head);
  // The time of a call, the size of the body.
  void limit_request(Exchange& exchange, const wire::RequestHead& head);
  // Of TLS that is passed through there is little to ask for: who may come, and where it goes.
  void admit_bytes(Exchange& exchange, const base::Address& client);

 private:
  void admit(Exchange& exchange, const ClientConnection& client, const wire::RequestHead& head);
  bool apply_cors(Exchange& exchange, const wire::RequestHead& head);

  Core& core_;
};

// Of the request's body; 0: none.
std::uint64_t body_limit(const Exchange& exchange);

}  // namespace ebb::gate
