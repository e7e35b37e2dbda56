// Which endpoint takes a request: the one that its client is bound to while that serves; else, of those that stand best
// (lifecycle/endpoint.h) and have room, the one that the backend's way of balancing (gate/choice) prefers.
//
// Before: gate/attempts, which has the key and the bond of gate/bonds. Next: gate/backends.
#pragma once

#include <optional>
#include <span>

#include "gate/endpoints.h"
#include "lifecycle/bond.h"
#include "routes/client_network.h"

namespace ebb::gate {

// What one request brings to the choice.
struct Claim {
  std::span<const base::Handle> tried = {};  // endpoints that it must not be sent to again
  std::optional<std::uint64_t> key = {};     // of hashes
  base::Handle bound = {};                   // the endpoint that the client's cookie names
};

// Equal in every router.
inline std::uint64_t source_key(const base::Address& client) { return routes::ClientNetwork::of(client).hash(0); }

// Whether a client stays with the endpoint that its cookie names.
lifecycle::Bond bond_with(const LiveEndpoint& endpoint, const routes::StickyModel& sticky, base::Instant now);

// An invalid handle: there is none, or the client waits for room at the one that it is bound to.
base::Handle choose_endpoint(Core& core, BackendView& view, const routes::BackendModel& model, const Claim& claim);

}  // namespace ebb::gate
