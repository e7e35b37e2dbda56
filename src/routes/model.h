// The desired configuration from a provider: plain values, not yet validated together. compile() turns it into a
// Snapshot or returns the errors.
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
  std::optional<PathMode> paths;  // not given: as sent, unless that bypasses a route or escapes a rewrite
  bool half_close = false;        // HTTP/1: a client that has sent FIN still gets its answer
  ClientCertificatesModel client_certificates;
  std::vector<Cidr> proxy_protocol_from;     // peers that may send the PROXY protocol; empty: none
  std::string backend;                       // of tcp and udp
  std::uint32_t connections_per_client = 0;  // concurrent, from one address; 0: no limit
  std::uint32_t idle_connections = 0;        // of these, idle ones; 0: no limit
};

enum class EndpointState : std::uint8_t { ready, leaving, drain, maint };

struct EndpointModel {
  std::string name;
  base::Address address;
  std::uint32_t weight = 1;
  EndpointState state = EndpointState::ready;
};

// `automatic`: by ALPN if the backend uses TLS, else HTTP/1.1.
enum class BackendProtocol : std::uint8_t { http1, h2c, h2, automatic };

enum class ProxyProtocol : std::uint8_t { off, v1, v2 };

struct BackendTlsModel {
  std::string ca;           // path; "": the system's certificate authorities
  std::string name;         // that the certificate must match
  std::string sni;          // "": `name`
  std::string certificate;  // path of the router's own, or ""
  std::string key;          // path
  bool verify = true;
};

struct BackendHttp2Model {
  std::uint32_t streams = 100;                  // concurrent, per connection
  Duration max_age = std::chrono::minutes{10};  // after which a connection gets no new streams
};

// Requests that wait until an endpoint has room.
struct QueueModel {
  std::uint32_t limit = 1000;  // per worker; 0: no queue
  Duration timeout = std::chrono::seconds{10};
};

// Concurrent, per endpoint and worker; 0: no limit.
struct EndpointLimitsModel {
  std::uint32_t requests = 0;
  std::uint32_t connections = 0;
};

// The active check of each endpoint, whether it has work or not.
struct HealthModel {
  std::string http;                 // the target of a GET; "": only a connection, with its TLS handshake
  std::string host;                 // the Host field; "": the name in the backend's certificate, or the address
  std::vector<StatusRange> expect;  // statuses of a healthy endpoint; empty: 2xx and 3xx
  std::uint32_t port = 0;           // checked without TLS, in HTTP/1.1; 0: the endpoint's own
  Duration every = std::chrono::seconds{2};
  Duration timeout = std::chrono::seconds{1};  // of connection, handshake and answer together
  std::uint32_t fall = 2;                      // consecutive failures until the endpoint is down
  std::uint32_t rise = 2;                      // consecutive successes until the endpoint is up again
};

// Detection of unhealthy endpoints from traffic, without a check; each kind can be switched off.
struct SilenceModel {
  bool on = true;
  Duration after = std::chrono::seconds{1};         // a request must wait this long to count as evidence
  Duration trial = std::chrono::milliseconds{250};  // the shortest time for the answer to a trial
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
  std::uint32_t idle_per_endpoint = 256;             // per worker; more if more are in use at a time,
  std::uint32_t idle_per_endpoint_max = 4096;        // up to this; 0 in either: no idle connections are kept
  std::uint32_t retries = 2;
  BackendProtocol protocol = BackendProtocol::http1;
  std::optional<BackendTlsModel> tls;
  BackendHttp2Model http2;
  ProxyProtocol proxy_protocol = ProxyProtocol::off;
  QueueModel queue;
  EndpointLimitsModel endpoint_limits;
  Duration drain_deadline = std::chrono::seconds{30};  // for the work of a draining endpoint
  std::optional<HealthModel> health;
  EvidenceModel evidence;
};

struct Timeouts {
  Duration tls_handshake = std::chrono::seconds{10};
  Duration client_head = std::chrono::seconds{10};
  Duration client_idle = std::chrono::seconds{60};
  Duration client_body = std::chrono::seconds{30};   // between two pieces of a request body
  Duration client_write = std::chrono::seconds{30};  // without progress by the client
  Duration backend_body = std::chrono::seconds{30};  // between two pieces of a response body
  Duration tunnel_idle = std::chrono::hours{1};
};

struct Limits {
  std::uint32_t head_bytes = 16384;
  std::uint32_t target_bytes = 8192;
  std::uint32_t fields = 100;
  std::uint64_t body_bytes = 0;                      // 0: no limit
  std::uint32_t connections = 0;                     // of clients, per process; 0: as the descriptor limit allows
  std::uint32_t idle_connections = 0;                // of these, idle ones; 0: no limit
  std::uint32_t idle_per_client = 0;                 // idle ones from one address
  std::uint64_t buffers = std::uint64_t{128} << 20;  // memory for bytes in transit, per worker
  std::uint64_t encoders = std::uint64_t{64} << 20;  // memory for the compression of responses, per worker
};

enum class LogFormat : std::uint8_t { off, json, common };

struct AccessLogModel {
  LogFormat format = LogFormat::off;
  std::string path;  // "" or "-": standard output
};

// Operators on other machines authenticate by token or by certificate.
struct AdminModel {
  base::Address bind;        // invalid: no admin listener
  std::string token_file;    // path, or ""
  std::string certificate;   // path, or "": no TLS
  std::string key;           // path
  std::string client_ca;     // path, or "": no client certificates
  base::Address self_drain;  // the address where endpoints request their own drain; invalid: none

  friend bool operator==(const AdminModel&, const AdminModel&) = default;
};

struct Model {
  std::string digest;  // of the provider's input; equal: same configuration
  AdminModel admin;
  AccessLogModel access_log;
  Timeouts timeouts;
  Limits limits;
  ForwardedMode forwarded = ForwardedMode::append;
  std::vector<Cidr> trusted_proxies;
  std::vector<ErrorBodyModel> errors;  // for routes without a body for a status
  bool cause_header = false;           // add a field with the cause to the router's own answers
  std::string via;                     // the router's name in Via; "": no Via field
  std::vector<ListenerModel> listeners;
  std::vector<RouteModel> routes;
  std::vector<BackendModel> backends;
  std::optional<CanaryModel> canary;
};

}  // namespace ebb::routes
