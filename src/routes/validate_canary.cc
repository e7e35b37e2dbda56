// Rules of the canary's section and of the routes that it probes. The canary sends GET to the route's own host and
// path, and detects a change only by the port.
#include "routes/spelling.h"
#include "routes/validate_parts.h"

namespace ebb::routes {

namespace {

constexpr Duration every_min = std::chrono::milliseconds{500};
constexpr Duration every_max = std::chrono::hours{1};
constexpr Duration settle_min = std::chrono::seconds{1};
constexpr Duration settle_max = std::chrono::hours{1};
constexpr std::uint32_t port_max = 65535;

void check_schedule(const CanaryModel& canary, Refusals& refusals) {
  if (canary.every < every_min || canary.every > every_max) {
    refusals.refuse("canary.every", "out of range", "give 500ms to 1h");
  } else if (canary.budget > canary.every) {
    refusals.refuse("canary.budget", "a probe must end before the next begins",
                    "give at most as much as `every`, or make that longer");
  }
  refusals.check_timeout("canary.budget", canary.budget);
  if (canary.settle < settle_min || canary.settle > settle_max) {
    refusals.refuse("canary.settle", "out of range", "give 1s to 1h");
  }
}

void check_ports(const CanaryModel& canary, Refusals& refusals) {
  for (std::size_t i = 0; i < canary.ports.size(); ++i) {
    refusals.check_range(indexed("canary.ports", i), canary.ports[i], 1, port_max);
  }
  if (canary.ports.size() != 2 || canary.ports[0] == canary.ports[1]) {
    refusals.refuse("canary.ports", "two ports are needed to see that the router takes changes",
                    "give the ports that `ebbgate canary serve` prints");
  }
}

void check_pods(const CanaryModel& canary, Refusals& refusals) {
  for (std::size_t i = 0; i < canary.pods.size(); ++i) {
    const std::string& pod = canary.pods[i];
    if (!pod.empty() && pod.find('*') >= pod.size() - 1) continue;
    refusals.refuse(indexed("canary.pods", i), quoted(pod) + " is not a pod name",
                    "give the name, or a prefix and `*`");
  }
}

void check_replicas(const CanaryModel& canary, Refusals& refusals) {
  Refusals::Seen names;
  for (std::size_t i = 0; i < canary.replicas.size(); ++i) {
    const CanaryReplicaModel& replica = canary.replicas[i];
    const std::string key = indexed("canary.replicas", i);
    refusals.check_name(key + ".name", "a replica", replica.name, i, names);
    if (replica.name == canary_self) {
      refusals.refuse(key + ".name", quoted(replica.name) + " is this router", "give it another name");
    }
    if (!is_host(replica.host)) {
      refusals.refuse(key + ".host", quoted(replica.host) + " is not a host",
                      "give an address or a name, without port");
    }
  }
}

void check_backend(const std::string& key, const BackendModel& backend, const CanaryModel& canary, Refusals& refusals) {
  for (const EndpointModel& endpoint : backend.endpoints) {
    if (std::ranges::find(canary.ports, endpoint.address.port()) != canary.ports.end()) continue;
    refusals.refuse(key,
                    "endpoint " + quoted(endpoint.name) + " has port " + std::to_string(endpoint.address.port()) +
                        ", which is none of `ports`",
                    "give the endpoint one of the two ports, or correct `ports`");
  }
}

// Why the canary cannot probe the route; "" if it can.
std::string why_not_walkable(const RouteModel& route) {
  if (is_any_host(route.host) || !is_host(route.host)) return "it matches more than one host";
  if (route.path.kind == PathKind::regex) return "its path is an expression";
  if (!route.conditions) return "";
  const ConditionsModel& conditions = *route.conditions;
  const bool more = !conditions.methods.empty() || !conditions.headers.empty() || !conditions.query.empty();
  return more ? "it has conditions besides host, path and listeners" : "";
}

}  // namespace

void check_canary(const Model& model, const BackendsByName& backends, Refusals& refusals) {
  if (!model.canary) return;
  const CanaryModel& canary = *model.canary;
  check_schedule(canary, refusals);
  check_ports(canary, refusals);
  check_pods(canary, refusals);
  check_replicas(canary, refusals);
  for (std::size_t i = 0; i < canary.backends.size(); ++i) {
    const std::string key = indexed("canary.backends", i);
    const BackendModel* const backend = refusals.check_backend(key, "the canary", canary.backends[i], backends);
    if (backend == nullptr) continue;
    check_backend(key, *backend, canary, refusals);
    const bool used = std::ranges::any_of(
        model.routes, [backend](const RouteModel& route) { return route.backend == backend->name; });
    if (!used)
      refusals.refuse(key, "no route leads to " + quoted(backend->name), "add a route: the canary probes routes");
  }
  for (std::size_t i = 0; i < model.routes.size(); ++i) {
    if (!canary.walks(model.routes[i])) continue;
    const std::string reason = why_not_walkable(model.routes[i]);
    if (reason.empty()) continue;
    refusals.refuse(indexed("routes", i), "the canary cannot probe this route, because " + reason,
                    "give it a host and a path of its own, and nothing else that a request must have");
  }
}

}  // namespace ebb::routes
