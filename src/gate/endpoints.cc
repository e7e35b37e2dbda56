#include "gate/endpoints.h"

#include "gate/backends.h"
#include "gate/h2_backends.h"

namespace ebb::gate {

void Endpoints::enter(LocalSnapshot& snapshot) {
  endpoints_.for_each([](base::Handle, EndpointState& endpoint) { endpoint.listed = false; });
  for (const routes::Backend& backend : snapshot.snapshot().backends()) {
    BackendView& view = snapshot.views.emplace_back();
    for (const routes::Endpoint& listed : backend.endpoints) {
      base::Handle& handle = by_identity_[listed.identity];
      if (endpoints_.find(handle) == nullptr) handle = endpoints_.emplace();
      EndpointState& endpoint = *endpoints_.find(handle);
      endpoint.identity = listed.identity;
      endpoint.address = listed.model.address;
      endpoint.label = listed.label;
      endpoint.weight = listed.model.weight;
      endpoint.wish = listed.model.state;
      endpoint.listed = true;
      view.endpoints.push_back(handle);
    }
  }
  std::vector<base::Handle> leaving;
  endpoints_.for_each([&leaving](base::Handle handle, EndpointState& endpoint) {
    if (!endpoint.listed || endpoint.wish != routes::EndpointState::ready) leaving.push_back(handle);
  });
  for (const base::Handle handle : leaving) {
    core_.backends->close_idle(*endpoints_.find(handle), base::Cause::endpoint_gone);
    core_.h2_backends->retire(*endpoints_.find(handle), base::Cause::endpoint_gone);
    settle(handle);
  }
}

void Endpoints::settle(base::Handle handle) {
  EndpointState* endpoint = endpoints_.find(handle);
  if (endpoint == nullptr || endpoint->listed || endpoint->connections > 0 || endpoint->active > 0) return;
  by_identity_.erase(endpoint->identity);
  endpoints_.erase(handle);
}

}  // namespace ebb::gate
