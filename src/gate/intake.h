// The beginning of an exchange: from a complete head to the decision what is done with the request. The decisions are
// those of routes/; here they meet exchanges. A route that asks for nothing costs a look at two null pointers.
//
// Before: gate/clients or gate/h2_clients, which read the head. Next: gate/attempts, or Exchanges::finish.
#pragma once

#include "gate/admission.h"
#include "gate/exchange.h"

namespace ebb::gate {

class Intake {
 public:
  explicit Intake(Core& core) : core_(core), admission_(core) {}

  // The head's views are valid during the call. Body bytes may be fed before start().
  base::Handle begin(Front& front, base::Handle end, const ClientConnection& client, const wire::RequestHead& head);
  // TCP, or TLS that is passed through: a tunnel as soon as there is a connection. `server_name`: what the client asked
  // TLS for.
  base::Handle begin_bytes(Front& front, base::Handle client, const routes::Route* route, std::uint32_t backend,
                           std::string_view server_name);
  // Refuses the request, answers it, or looks for an endpoint.
  void start(base::Handle exchange);

 private:
  const wire::RequestHead& find_route(Exchange& exchange, const ClientConnection& client,
                                      const wire::RequestHead& head);
  void prepare(Exchange& exchange, const ClientConnection& client, const wire::RequestHead& head);

  Core& core_;
  Admission admission_;
  std::string path_text_;  // of a path that was spelled otherwise, while its head is looked at
};

}  // namespace ebb::gate
