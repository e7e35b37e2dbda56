#include "canary/doors.h"

#include <algorithm>
#include <optional>

namespace ebb::canary {

namespace {

using routes::ListenerModel;
using routes::RouteModel;

// How a client reaches the route through the listener; empty if it cannot.
std::optional<Kind> kind_of(const RouteModel& route, const ListenerModel& listener) {
  const bool passthrough = route.tls == routes::TlsMode::passthrough;
  switch (listener.protocol) {
    case routes::Protocol::http:
      if (passthrough) return std::nullopt;
      return Kind::plain;
    case routes::Protocol::https:
      if (passthrough) return Kind::passthrough;
      // The canary has no client certificate.
      if (listener.client_certificates.mode == routes::ClientCertificates::required) return std::nullopt;
      return route.tls == routes::TlsMode::edge ? Kind::edge : Kind::reencrypt;
    case routes::Protocol::tls_passthrough:
      if (!passthrough) return std::nullopt;
      return Kind::passthrough;
    case routes::Protocol::tcp:
    case routes::Protocol::udp: return std::nullopt;
  }
  return std::nullopt;
}

bool serves(const ListenerModel& listener, const RouteModel& route) {
  if (!route.conditions || route.conditions->listeners.empty()) return true;
  return std::ranges::find(route.conditions->listeners, listener.name) != route.conditions->listeners.end();
}

// A wildcard listener also listens on the loopback address.
std::string reachable_host(const base::Address& bind) {
  const std::string host = bind.host_text();
  if (host == "0.0.0.0") return "127.0.0.1";
  return host == "::" ? "::1" : host;
}

Door door_of(const RouteModel& route, const ListenerModel& listener, Kind kind) {
  Door door{.replica = std::string(routes::canary_self),
            .kind = kind,
            .host = reachable_host(listener.bind),
            .port = listener.bind.port(),
            .authority = route.host};
  if (!route.path.text.empty()) door.path = route.path.text;
  if (!listener.http2 && kind != Kind::passthrough) std::erase(door.protocols, Protocol::h2);
  return door;
}

std::vector<Door> own_doors(const routes::Model& model) {
  std::vector<Door> doors;
  for (const RouteModel& route : model.routes) {
    if (!model.canary->walks(route)) continue;
    for (const ListenerModel& listener : model.listeners) {
      const std::optional<Kind> kind = kind_of(route, listener);
      if (!kind || !serves(listener, route) || listener.bind.port() == 0) continue;
      if (std::ranges::find(doors, *kind, &Door::kind) == doors.end()) doors.push_back(door_of(route, listener, *kind));
    }
  }
  return doors;
}

}  // namespace

std::vector<Door> doors_of(const routes::Model& model) {
  if (!model.canary) return {};
  const std::vector<Door> own = own_doors(model);
  std::vector<Door> doors = own;
  for (const routes::CanaryReplicaModel& replica : model.canary->replicas) {
    for (Door door : own) {
      door.replica = replica.name;
      door.host = replica.host;
      door.own = false;
      doors.push_back(std::move(door));
    }
  }
  return doors;
}

}  // namespace ebb::canary
