#include "routes/validate_parts.h"

namespace ebb::routes {

namespace {

bool carries_http(Protocol protocol) { return protocol == Protocol::http || protocol == Protocol::https; }
bool carries_anything(Protocol protocol) { return protocol == Protocol::tcp || protocol == Protocol::udp; }

std::string name_of(Protocol protocol) {
  switch (protocol) {
    case Protocol::http: return "an http listener";
    case Protocol::https: return "an https listener";
    case Protocol::tls_passthrough: return "a tls-passthrough listener";
    case Protocol::tcp: return "a tcp listener";
    case Protocol::udp: return "a udp listener";
  }
  return "a listener";
}

// Checks that the address is free. TCP and UDP may use the same port.
void check_bind(const std::string& key, const Model& model, std::size_t index, Refusals& refusals) {
  const ListenerModel& listener = model.listeners[index];
  const base::Address& bind = listener.bind;
  if (!bind.valid()) {
    refusals.refuse(key, "a listener needs an address", "give one such as 0.0.0.0:8080");
    return;
  }
  if (bind.port() == 0) return;  // the kernel picks a free port
  const auto remedy = "give each listener a port or an address of its own";
  const bool is_udp = listener.protocol == Protocol::udp;
  if (!is_udp && (model.admin.bind == bind || model.admin.self_drain == bind)) {
    refusals.refuse(key, bind.text() + " is the admin address", remedy);
  }
  for (std::size_t i = 0; i < index; ++i) {
    const ListenerModel& other = model.listeners[i];
    if (other.bind != bind || (other.protocol == Protocol::udp) != is_udp) continue;
    refusals.refuse(key, bind.text() + " is already the address of listener " + quoted(other.name), remedy);
    return;
  }
}

void check_client_certificates(const std::string& key, const ListenerModel& listener, Refusals& refusals) {
  const ClientCertificatesModel& clients = listener.client_certificates;
  if (clients.mode == ClientCertificates::none) {
    if (clients.ca.empty() && clients.crl.empty()) return;
    refusals.refuse(key + ".mode", "no client is asked for a certificate", "add mode: optional or mode: required");
    return;
  }
  if (listener.protocol != Protocol::https) {
    refusals.refuse(key, name_of(listener.protocol) + " sees no client certificates",
                    "use protocol: https, or remove the key");
  } else if (clients.ca.empty()) {
    refusals.refuse(key + ".ca", "there is nothing to verify client certificates against",
                    "add ca: FILE with the authorities in PEM");
  }
}

void check_tls(const std::string& key, const ListenerModel& listener, Refusals& refusals) {
  const bool is_https = listener.protocol == Protocol::https;
  if (is_https && listener.certificates.empty()) {
    refusals.refuse(key + ".certificates", "an https listener needs a certificate",
                    "add certificates: [{cert: FILE, key: FILE}], or use protocol: http");
  }
  const auto use_https = [](std::string_view what) {
    return "use protocol: https, or remove the " + std::string(what);
  };
  if (!is_https && !listener.certificates.empty()) {
    refusals.refuse(key + ".certificates", name_of(listener.protocol) + " has no use for certificates",
                    use_https("certificates"));
  }
  if (!is_https && listener.refuse_unknown_names) {
    refusals.refuse(key + ".unknown_names", name_of(listener.protocol) + " has no certificates to choose from",
                    use_https("key"));
  }
  check_client_certificates(key + ".client_certificates", listener, refusals);
}

void check_backend_use(const std::string& key, const ListenerModel& listener, const BackendsByName& backends,
                       Refusals& refusals) {
  if (!carries_anything(listener.protocol)) {
    if (listener.backend.empty()) return;
    refusals.refuse(key, name_of(listener.protocol) + " finds its backends by routes",
                    "add a route, or use protocol: tcp or udp");
    return;
  }
  const BackendModel* backend = refusals.check_backend(key, name_of(listener.protocol), listener.backend, backends);
  if (backend == nullptr) return;
  if (backend->tls) {
    refusals.refuse(key,
                    name_of(listener.protocol) + " passes bytes as they come, and backend " + quoted(backend->name) +
                        " has a `tls` section",
                    "name a backend without `tls`");
  }
  if (const std::string reason = needs_http(*backend); !reason.empty()) {
    refusals.refuse(key, reason, "name another backend, or balance by source_hash");
  }
  if (listener.protocol == Protocol::udp && backend->proxy_protocol != ProxyProtocol::off) {
    refusals.refuse(key, "the PROXY protocol is sent over TCP only, and backend " + quoted(backend->name) + " wants it",
                    "name a backend without `proxy_protocol`");
  }
}

}  // namespace

void check_listeners(const Model& model, const BackendsByName& backends, Refusals& refusals) {
  Refusals::Seen names;
  for (std::size_t i = 0; i < model.listeners.size(); ++i) {
    const ListenerModel& listener = model.listeners[i];
    const std::string key = indexed("listeners", i);
    refusals.check_name(key + ".name", "a listener", listener.name, i, names);
    check_bind(key + ".bind", model, i, refusals);
    check_tls(key, listener, refusals);
    if (!listener.http2 && !carries_http(listener.protocol)) {
      refusals.refuse(key + ".http2", name_of(listener.protocol) + " does not parse HTTP", "remove the key");
    }
    if (listener.paths && !carries_http(listener.protocol)) {
      refusals.refuse(key + ".paths", name_of(listener.protocol) + " does not parse HTTP", "remove the key");
    }
    if (!listener.proxy_protocol_from.empty() && listener.protocol == Protocol::udp) {
      refusals.refuse(key + ".proxy_protocol", "the PROXY protocol is read over TCP only", "remove the key");
    }
    if (listener.connections_per_client > 0 && listener.protocol == Protocol::udp) {
      refusals.refuse(key + ".connections_per_client", "a udp listener has no connections", "remove the key");
    }
    check_backend_use(key + ".backend", listener, backends, refusals);
  }
}

}  // namespace ebb::routes
