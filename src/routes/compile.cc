// Turns a valid model into a snapshot.
#include "base/stable_hash.h"
#include "routes/snapshot.h"
#include "routes/validate.h"

namespace ebb::routes {

std::uint64_t endpoint_identity(std::string_view backend, std::string_view endpoint, const base::Address& address) {
  return base::StableHash().add(backend).add(endpoint).add(address.text()).value();
}

std::vector<Refusal> Snapshot::compile(Model model, std::uint64_t generation, base::Labels& labels,
                                       std::shared_ptr<const Snapshot>& out) {
  std::vector<Refusal> refusals = validate(model);
  if (!refusals.empty()) return refusals;

  out = std::make_shared<const Snapshot>(std::move(model), generation, labels);
  return refusals;
}

Snapshot::Snapshot(Model model, std::uint64_t generation, base::Labels& labels)
    : generation_(generation),
      model_(std::move(model)),
      mark_{std::to_string(generation), model_.digest},
      trusted_proxies_(model_.trusted_proxies) {
  for (RouteModel& route : model_.routes) {
    route.name = route_name(route);
    if (tells_mark(route)) route.policy.make();
  }
  add_backends(labels);
  add_listeners(labels);
  add_routes(labels);
  table_.build(model_.routes);
}

bool Snapshot::tells_mark(const RouteModel& route) const {
  return model_.canary && model_.canary->walks(route) && route.tls != TlsMode::passthrough;
}

void Snapshot::add_backends(base::Labels& labels) {
  backends_.reserve(model_.backends.size());
  for (const BackendModel& model : model_.backends) {
    backend_by_name_.emplace(model.name, static_cast<std::uint32_t>(backends_.size()));
    Backend& backend = backends_.emplace_back(model, labels.intern(model.name));
    backend.binds = model.sticky || model.balance == Balance::source_hash || model.balance == Balance::header_hash;
    backend.endpoints.reserve(model.endpoints.size());
    for (const EndpointModel& endpoint : model.endpoints) {
      backend.endpoints.push_back(
          {endpoint, labels.intern(endpoint.name), endpoint_identity(model.name, endpoint.name, endpoint.address)});
    }
  }
}

void Snapshot::add_listeners(base::Labels& labels) {
  listeners_.reserve(model_.listeners.size());
  for (const ListenerModel& model : model_.listeners) {
    const std::uint32_t backend = model.backend.empty() ? no_backend : backend_index(model.backend);
    listeners_.push_back({model, labels.intern(model.name), backend});
  }
}

void Snapshot::add_routes(base::Labels& labels) {
  const Policy::BackendIndex index = [this](std::string_view name) { return backend_index(name); };
  routes_.reserve(model_.routes.size());
  for (const RouteModel& model : model_.routes) {
    Route& route = routes_.emplace_back(model, labels.intern(model.name));
    route.guards = guards(model);
    if (model.policy) {
      route.policy = std::make_unique<const Policy>(*model.policy, index, tells_mark(model) ? &mark_ : nullptr);
    }
    if (!model.backend.empty()) route.backend = backend_index(model.backend);
    if (!model.shares.empty()) add_shares(route);
    if (route.backend == no_backend) continue;
    const BackendModel& backend = backends_[route.backend].model;
    route.response_timeout = model.timeout > Duration::zero() ? model.timeout : backend.response_timeout;
  }
}

void Snapshot::add_shares(Route& route) const {
  std::vector<Share> shares;
  for (const ShareModel& model : route.model.shares) {
    Share& share = shares.emplace_back(backend_index(model.name), model.weight);
    if (route.policy) {
      share.request = route.policy->request;
      share.response = route.policy->response;
    }
    share.request.then(FieldEdits::of(model.request_headers));
    share.response.then(FieldEdits::of(model.response_headers));
  }
  route.backend = shares.front().backend;
  route.shares = std::make_unique<const std::vector<Share>>(std::move(shares));
}

}  // namespace ebb::routes
