// Which endpoint a request belongs to before one is chosen: the one that the client's cookie names, or the key of a
// hash. The cookie is read and hidden here, and given when the client had none or has moved. Holds nothing.
//
// Before: gate/intake. Next: gate/balance, by way of gate/attempts.
#pragma once

#include <optional>

#include "gate/exchange.h"

namespace ebb::gate {

struct BackendView;

class Bonds {
 public:
  explicit Bonds(Core& core) : core_(core) {}

  void note(Exchange& exchange, const ClientConnection& client, const wire::RequestHead& head);
  void note_source(Exchange& exchange, const base::Address& client);
  // Of a split route: the share that has the endpoint which the client's cookie names, if it still serves.
  std::optional<std::size_t> bound_share(const Exchange& exchange, const wire::RequestHead& head);
  // Backends have no use for our cookies, whichever share they are of. `text` has to outlive the head that is returned.
  const wire::RequestHead& without_our_cookies(const Exchange& exchange, const wire::RequestHead& head,
                                               std::string& text);
  // With the response, to a client that had none or has moved.
  void give_cookie(Exchange& exchange);

 private:
  base::Handle named_endpoint(BackendView& view, const routes::StickyModel& sticky, const wire::Fields& fields);

  Core& core_;
};

// The client belongs to the endpoint that has its request, by a cookie.
bool bound_here(const Exchange& exchange);
// Whom its failures are counted for.
lifecycle::ClientKey key_of(const Exchange& exchange);
inline base::Handle bound_to(const Exchange& exchange) {
  return exchange.applied != nullptr && exchange.applied->sticky ? exchange.applied->sticky->bound : base::Handle{};
}

}  // namespace ebb::gate
