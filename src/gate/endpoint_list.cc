#include "gate/endpoint_list.h"

namespace ebb::gate {

using lifecycle::Membership;
using lifecycle::Wish;

EndpointList endpoint_list(const routes::Backend& backend) {
  EndpointList list{.backend = backend.model.name, .endpoints = {}};
  list.endpoints.reserve(backend.endpoints.size());
  for (const routes::Endpoint& endpoint : backend.endpoints) {
    const routes::EndpointState state = endpoint.model.state;
    const bool leaving = state == routes::EndpointState::leaving;
    Wish wish = Wish::ready;
    if (state == routes::EndpointState::drain) wish = Wish::drain;
    if (state == routes::EndpointState::maint) wish = Wish::maint;
    list.endpoints.push_back({.identity = endpoint.identity,
                              .name = endpoint.model.name,
                              .label = endpoint.label,
                              .address = endpoint.model.address,
                              .weight = endpoint.model.weight,
                              .membership = leaving ? Membership::leaving : Membership::present,
                              .wish = wish});
  }
  return list;
}

}  // namespace ebb::gate
