// From a model to the tables that match.cc looks into.
#include <algorithm>

#include "routes/normalise.h"
#include "routes/snapshot.h"
#include "routes/validate.h"

namespace ebb::routes {

namespace {

// FNV-1a: equal over snapshots and processes, which std::hash does not promise.
class IdentityHash {
 public:
  void add(std::string_view text) {
    for (const char c : text) add_byte(static_cast<unsigned char>(c));
    add_byte(0);  // "ab","c" is not "a","bc"
  }
  std::uint64_t value() const { return value_; }

 private:
  void add_byte(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3u; }
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

std::uint64_t identity_of(const BackendModel& backend, const EndpointModel& endpoint) {
  IdentityHash hash;
  hash.add(backend.name);
  hash.add(endpoint.name);
  hash.add(endpoint.address.text());
  return hash.value();
}

}  // namespace

std::vector<Refusal> Snapshot::compile(Model model, std::uint64_t generation, base::Labels& labels,
                                       std::shared_ptr<const Snapshot>& out) {
  std::vector<Refusal> refusals = validate(model);
  if (!refusals.empty()) return refusals;

  auto snapshot = std::make_shared<Snapshot>();
  snapshot->generation_ = generation;
  snapshot->model_ = std::move(model);
  snapshot->listeners_.reserve(snapshot->model_.listeners.size());
  for (const ListenerModel& listener : snapshot->model_.listeners) {
    snapshot->listeners_.push_back({listener, labels.intern(listener.name)});
  }
  snapshot->add_backends(labels);
  snapshot->add_routes(labels);
  out = std::move(snapshot);
  return refusals;
}

void Snapshot::add_backends(base::Labels& labels) {
  backends_.reserve(model_.backends.size());
  for (const BackendModel& model : model_.backends) {
    Backend& backend = backends_.emplace_back(model, labels.intern(model.name));
    backend.endpoints.reserve(model.endpoints.size());
    for (const EndpointModel& endpoint : model.endpoints) {
      backend.endpoints.push_back({endpoint, labels.intern(endpoint.name), identity_of(model, endpoint)});
    }
  }
}

void Snapshot::add_routes(base::Labels& labels) {
  std::unordered_map<std::string_view, std::uint32_t> backend_by_name;
  for (std::uint32_t i = 0; i < backends_.size(); ++i) backend_by_name.emplace(backends_[i].model.name, i);

  routes_.reserve(model_.routes.size());
  for (const RouteModel& model : model_.routes) {
    const auto index = static_cast<std::uint32_t>(routes_.size());
    Route& route = routes_.emplace_back(model);
    route.model.name = route_name(model);
    route.label = labels.intern(route.model.name);
    route.backend = backend_by_name.at(model.backend);
    const Duration backend_timeout = backends_[route.backend].model.response_timeout;
    route.response_timeout = model.timeout > Duration::zero() ? model.timeout : backend_timeout;

    HostBuffer buffer;
    const bool wildcard = model.host.starts_with("*.");
    const std::string host(normalise_host(wildcard ? std::string_view(model.host).substr(2) : model.host, buffer));
    if (wildcard) longest_wildcard_ = std::max(longest_wildcard_, host.size());
    const bool any = model.host.empty() || model.host == "*";
    Paths& paths = any ? any_host_ : wildcard ? wildcard_[host] : exact_[host];
    const std::string_view prefix = normalise_prefix(model.path);
    paths.prefixes.emplace(prefix, index);
    paths.longest = std::max(paths.longest, static_cast<std::uint32_t>(prefix.size()));
  }
}

}  // namespace ebb::routes
