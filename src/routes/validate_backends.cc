#include <chrono>

#include "base/literal_address.h"
#include "routes/spelling.h"
#include "routes/validate_parts.h"

namespace ebb::routes {

namespace {

constexpr std::uint32_t weight_max = 256;
constexpr std::uint32_t streams_max = 10'000;
constexpr Duration every_min = std::chrono::milliseconds{100};
constexpr Duration every_max = std::chrono::hours{1};
constexpr Duration trial_max = std::chrono::seconds{10};
constexpr std::uint32_t in_a_row_max = 100;

void check_tls(const std::string& key, const BackendTlsModel& tls, Refusals& refusals) {
  if (tls.verify && tls.name.empty()) {
    refusals.refuse(key + ".name", "there is no name to verify the certificate against",
                    "add name: NAME; verify: false would accept any server");
  }
  if (!tls.verify && !tls.ca.empty()) {
    refusals.refuse(key + ".ca", "`ca` has no effect with verify: false", "remove `ca`, or `verify: false`");
  }
  if (!tls.name.empty() && !is_host(tls.name) && base::literal_address(tls.name).empty()) {
    refusals.refuse(key + ".name", quoted(tls.name) + " is neither a host name nor an address",
                    "give one such as shop.internal or 10.1.0.5");
  }
  if (!base::literal_address(tls.sni).empty()) {
    refusals.refuse(key + ".sni", quoted(tls.sni) + " is an address, and RFC 6066 allows only host names",
                    "remove `sni`, or give a name such as shop.internal");
  } else if (!tls.sni.empty() && !is_host(tls.sni)) {
    refusals.refuse(key + ".sni", quoted(tls.sni) + " is not a host name", "give a name such as shop.internal");
  }
  if (tls.certificate.empty() != tls.key.empty()) {
    refusals.refuse(key + (tls.key.empty() ? ".key" : ".cert"), "a certificate and its key belong together",
                    "give both `cert` and `key`, or none");
  }
}

void check_protocol(const std::string& key, const BackendModel& backend, Refusals& refusals) {
  if (backend.protocol == BackendProtocol::h2 && !backend.tls) {
    refusals.refuse(key + ".protocol", "h2 is HTTP/2 over TLS, and there is no `tls` section",
                    "add `tls`, or use h2c for HTTP/2 without TLS");
  }
  if (backend.protocol == BackendProtocol::h2c && backend.tls) {
    refusals.refuse(key + ".protocol", "h2c is HTTP/2 without TLS, and there is a `tls` section",
                    "use h2, or remove `tls`");
  }
  if (backend.tls) check_tls(key + ".tls", *backend.tls, refusals);
  refusals.check_range(key + ".http2.streams", backend.http2.streams, 1, streams_max);
  refusals.check_timeout(key + ".http2.max_age", backend.http2.max_age);
}

void check_endpoints(const std::string& backend_key, const BackendModel& backend, Refusals& refusals) {
  Refusals::Seen names;
  for (std::size_t i = 0; i < backend.endpoints.size(); ++i) {
    const EndpointModel& endpoint = backend.endpoints[i];
    const std::string key = backend_key + indexed(".endpoints", i);
    refusals.check_name(key + ".name", "an endpoint", endpoint.name, i, names);
    if (!endpoint.address.valid() || endpoint.address.port() == 0) {
      refusals.refuse(key + ".address", "an endpoint needs an address and a port", "give one such as 10.1.0.5:8080");
    }
    if (endpoint.weight > weight_max) {
      refusals.refuse(key + ".weight", std::to_string(endpoint.weight) + " is out of range",
                      "give 0 (no new work) to 256");
    }
  }
}

void check_health(const std::string& key, const HealthModel& health, Refusals& refusals) {
  if (!health.http.empty() && !is_target(health.http)) {
    refusals.refuse(key + ".http", quoted(health.http) + " is not a path", "give one such as /healthz");
  }
  if (!health.host.empty() && !is_host(health.host)) {
    refusals.refuse(key + ".host", quoted(health.host) + " is not a host name", "give a name such as shop.internal");
  }
  const std::pair<const char*, bool> of_http[] = {{".host", !health.host.empty()}, {".expect", !health.expect.empty()}};
  for (const auto& [name, given] : of_http) {
    if (!given || !health.http.empty()) continue;
    refusals.refuse(key + name, "this key needs a check over HTTP", "add http: PATH, or remove the key");
  }
  if (health.port > 65535) {
    refusals.refuse(key + ".port", std::to_string(health.port) + " is out of range", "give 1 to 65535");
  }
  if (health.every < every_min || health.every > every_max) {
    refusals.refuse(key + ".every", "out of range", "give 100ms to 1h");
  } else if (health.timeout > health.every) {
    refusals.refuse(key + ".timeout", "a check must end before the next begins",
                    "give at most as much as `every`, or make that longer");
  }
  refusals.check_timeout(key + ".timeout", health.timeout);
  refusals.check_range(key + ".fall", health.fall, 1, in_a_row_max);
  refusals.check_range(key + ".rise", health.rise, 1, in_a_row_max);
}

void check_evidence(const std::string& key, const EvidenceModel& evidence, Refusals& refusals) {
  if (evidence.silence.after < every_min || evidence.silence.after > every_max) {
    refusals.refuse(key + ".silence.after", "out of range", "give 100ms to 1h, or write silence: off");
  }
  if (evidence.silence.trial <= Duration::zero() || evidence.silence.trial > trial_max) {
    refusals.refuse(key + ".silence.trial", "out of range", "give 1ms to 10s");
  }
  refusals.check_range(key + ".failures.in_a_row", evidence.failures.in_a_row, 2, 1000);
  refusals.check_range(key + ".retransmission.timeouts", evidence.retransmission.timeouts, 2, 8);
}

}  // namespace

void check_backends(const Model& model, Refusals& refusals) {
  Refusals::Seen names;
  for (std::size_t i = 0; i < model.backends.size(); ++i) {
    const BackendModel& backend = model.backends[i];
    const std::string key = indexed("backends", i);
    refusals.check_name(key + ".name", "a backend", backend.name, i, names);
    refusals.check_timeout(key + ".timeouts.connect", backend.connect_timeout);
    refusals.check_timeout(key + ".timeouts.handshake", backend.handshake_timeout);
    refusals.check_timeout(key + ".timeouts.response", backend.response_timeout);
    refusals.check_timeout(key + ".timeouts.idle", backend.idle_timeout);
    refusals.check_timeout(key + ".drain.deadline", backend.drain_deadline);
    if (backend.queue.limit > 0) refusals.check_timeout(key + ".queue.timeout", backend.queue.timeout);
    refusals.check_retries(key + ".retries", backend.retries);
    check_balance(key, backend, refusals);
    check_protocol(key, backend, refusals);
    check_endpoints(key, backend, refusals);
    if (backend.health) check_health(key + ".health", *backend.health, refusals);
    check_evidence(key + ".evidence", backend.evidence, refusals);
  }
}

}  // namespace ebb::routes
