// The desired configuration from a provider: plain values, not yet validated together. compile() makes a Snapshot of
// it or says what is wrong.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/clock.h"
#include "routes/address_set.h"
#include "routes/balance_model.h"
#include "routes/canary_model.h"
#include "routes/policy_model.h"
#include "routes/route_model.h"

namespace ebb::routes {

enum class Protocol : std::uint8_t { http, https, tls_passthrough, tcp, udp };

struct CertificateFiles {
  std::string certificate;  // path
  std::string key;          // path
  std::string ocsp;         // path of a response to staple, or ""
};

enum class ClientCertificates : std::uint8_t { none, optional, required };

struct ClientCertificatesModel {
  ClientCertificates mode = ClientCertificates::none;
  std::string ca;   // path
  std::string crl;  // path, or ""
};

struct ListenerModel {
  std::string name;
  base::Address bind;
  Protocol protocol = Protocol::http;
  std::vector<CertificateFiles> certificates;
  bool refuse_unknown_names = false;
  bool http2 = true;
  std::optional<PathMode> paths;  // not given: as they were sent, unless that leads around a route or out of a rewrite
  bool half_close = false;        // HTTP/1: a client that has sent its FIN may still wait for its answer
  ClientCertificatesModel client_certificates;
  std::vector<Cidr> proxy_protocol_from;     // who may say on whose behalf it connects; empty: nobody
  std::string backend;                       // of tcp and udp
  std::uint32_t connections_per_client = 0;  // at a time, from one address; 0: no limit
  std::uint32_t idle_connections = 0;        // of them, that wait for a request; 0: no limit
};

enum class EndpointState : std::uint8_t { ready, leaving, drain, maint };

struct EndpointModel {
  std::string name;
  base::Address address;
  std::uint32_t weight = 1;
  EndpointState state = EndpointState::ready;
};

// `automatic`: what the endpoint chooses by ALPN if there is TLS, else HTTP/1.1.
enum class BackendProtocol : std::uint8_t { http1, h2c, h2, automatic };

enum class ProxyProtocol : std::uint8_t { off, v1, v2 };

struct BackendTlsModel {
  std::string ca;           // path; "": the authorities that this machine trusts
  std::string name;         // that the certificate must be for
  std::string sni;          // "": `name`
  std::string certificate;  // path of our own, or ""
  std::string key;          // path
  bool verify = true;
};

struct BackendHttp2Model {
  std::uint32_t streams = 100;                  // at a time on one connection
  Duration max_age = std::chrono::minutes{10};  // then no new stream
};

// Requests that wait until an endpoint may take them.
struct QueueModel {
  std::uint32_t limit = 1000;  // per worker; 0: nothing waits
  Duration timeout = std::chrono::seconds{10};
};

// At a time, per endpoint and worker; 0: no limit.
struct EndpointLimitsModel {
  std::uint32_t requests = 0;
  std::uint32_t connections = 0;
};

// The active check of each endpoint, with or without work.
struct HealthModel {
  std::string http;                 // the target of a GET; "": a connection, with its TLS handshake, is enough
  std::string host;                 // that is asked for; "": the name in the backend's certificate, or the address
  std::vector<StatusRange> expect;  // good answers; empty: 2xx and 3xx
  std::uint32_t port = 0;           // asked without TLS and in HTTP/1.1; 0: the endpoint's own
  Duration every = std::chrono::seconds{2};
  Duration timeout = std::chrono::seconds{1};  // of connection, handshake and answer together
  std::uint32_t fall = 2;                      // failures in a row after which it is down
  std::uint32_t rise = 2;                      // successes in a row after which it is up again
};

// Inferences about endpoints from traffic, without a check; each can be switched off.
struct SilenceModel {
  bool on = true;
  Duration after = std::chrono::seconds{1};         // a request has waited, before that is evidence
  Duration trial = std::chrono::milliseconds{250};  // the least time for the answer to a trial
};
struct FailuresModel {
  bool on = true;
  std::uint32_t in_a_row = 5;
};
struct RetransmissionModel {
  bool on = true;
  std::uint32_t timeouts = 2;  // after 0.8 s on a LAN: tail loss probe 0.2, time-outs 0.2 and 0.4
};
struct EvidenceModel {
  SilenceModel silence;
  FailuresModel failures;
  RetransmissionModel retransmission;
  bool connect = true;
};

struct BackendModel {
  std::string name;
  Balance balance = Balance::least_request;
  std::string hash_header;  // of header_hash
  std::optional<StickyModel> sticky;
  Duration slow_start{};  // 0: none
  std::vector<EndpointModel> endpoints;
  Duration connect_timeout = std::chrono::seconds{1};
  Duration handshake_timeout = std::chrono::seconds{10};
  Duration response_timeout = std::chrono::seconds{30};
  Duration idle_timeout = std::chrono::seconds{30};  // of pooled connections
  std::uint32_t idle_per_endpoint = 256;             // per worker; as many as work at a time if those are more,
  std::uint32_t idle_per_endpoint_max = 4096;        // up to this; either may be 0: none is kept
  std::uint32_t retries = 2;
  BackendProtocol protocol = BackendProtocol::http1;
  std::optional<BackendTlsModel> tls;
  BackendHttp2Model http2;
  ProxyProtocol proxy_protocol = ProxyProtocol::off;
  QueueModel queue;
  EndpointLimitsModel endpoint_limits;
  Duration drain_deadline = std::chrono::seconds{30};  // for the work of an endpoint that takes no more
  std::optional<HealthModel> health;
  EvidenceModel evidence;
};

struct Timeouts {
  Duration tls_handshake = std::chrono::seconds{10};
  Duration client_head = std::chrono::seconds{10};
  Duration client_idle = std::chrono::seconds{60};
  Duration client_body = std::chrono::seconds{30};   // between two pieces of a request body
  Duration client_write = std::chrono::seconds{30};  // without the client taking a byte
  Duration backend_body = std::chrono::seconds{30};  // between two pieces of a response body
  Duration tunnel_idle = std::chrono::hours{1};
};

struct Limits {
  std::uint32_t head_bytes = 16384;
  std::uint32_t target_bytes = 8192;
  std::uint32_t fields = 100;
  std::uint64_t body_bytes = 0;                      // 0: no limit
  std::uint32_t connections = 0;                     // of clients, per process; 0: what the descriptor limit allows
  std::uint32_t idle_connections = 0;                // of them, that wait for a request; 0: no limit
  std::uint32_t idle_per_client = 0;                 // the same, from one address
  std::uint64_t buffers = std::uint64_t{128} << 20;  // memory for bytes in motion, per worker
  std::uint64_t encoders = std::uint64_t{64} << 20;  // memory for the compression of responses, per worker
};

enum class LogFormat : std::uint8_t { off, json, common };

struct AccessLogModel {
  LogFormat format = LogFormat::off;
  std::string path;  // "" or "-": standard output
};

// Operators beyond this machine prove who they are, by a token or by a certificate.
struct AdminModel {
  base::Address bind;        // invalid: none
  std::string token_file;    // path, or ""
  std::string certificate;   // path, or "": plain
  std::string key;           // path
  std::string client_ca;     // path, or "": clients need no certificate
  base::Address self_drain;  // where endpoints ask for their own drain; invalid: nowhere

  friend bool operator==(const AdminModel&, const AdminModel&) = default;
};

struct Model {
  std::string digest;  // of what the provider was given; equal: it says the same
  AdminModel admin;
  AccessLogModel access_log;
  Timeouts timeouts;
  Limits limits;
  ForwardedMode forwarded = ForwardedMode::append;
  std::vector<Cidr> trusted_proxies;
  std::vector<ErrorBodyModel> errors;  // for routes that have none for a status
  bool cause_header = false;           // answers of the router's own say why
  std::string via;                     // our name in Via; "": the field is not written
  std::vector<ListenerModel> listeners;
  std::vector<RouteModel> routes;
  std::vector<BackendModel> backends;
  std::optional<CanaryModel> canary;
};

}  // namespace ebb::routes
