// The request's head as the endpoint gets it: the route's edits and rewrites, and what the router says of the client.
#pragma once

#include "gate/exchange.h"

namespace ebb::gate {

// False: the route adds more fields than a head may have.
bool write_head(Core& core, Exchange& exchange, const ClientConnection& client, const wire::RequestHead& head,
                const routes::FieldEdits* edits);

// The head with what is left of Max-Forwards. `text` has to outlive it.
const wire::RequestHead& with_forwards(Core& core, const wire::RequestHead& head, std::uint64_t left,
                                       std::string& text);

std::string_view scheme_of(const ClientConnection& client);

}  // namespace ebb::gate
