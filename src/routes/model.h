// What a provider says the router should be: plain values, not yet validated together. compile() makes a Snapshot of
// it or says what is wrong.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/clock.h"

namespace ebb::routes {

using base::Duration;

enum class Protocol : std::uint8_t { http, https };

struct CertificateFiles {
  std::string certificate;  // path
  std::string key;          // path
};

struct ListenerModel {
  std::string name;
  base::Address bind;
  Protocol protocol = Protocol::http;
  std::vector<CertificateFiles> certificates;
  bool refuse_unknown_names = false;
};

struct RouteModel {
  std::string name;  // for logs and metrics; "host/path" if not given
  std::string host;  // "" or "*": every host; "*.example.com": any name below it
  std::string path;  // "" or "/": every path; else a prefix of whole segments
  std::string backend;
  Duration timeout{};  // until the response begins; 0: the backend's
};

enum class EndpointState : std::uint8_t { ready, leaving, drain, maint };

struct EndpointModel {
  std::string name;
  base::Address address;
  std::uint32_t weight = 1;
  EndpointState state = EndpointState::ready;
};

enum class Balance : std::uint8_t { round_robin, least_request };

struct BackendModel {
  std::string name;
  Balance balance = Balance::least_request;
  std::vector<EndpointModel> endpoints;
  Duration connect_timeout = std::chrono::seconds{1};
  Duration response_timeout = std::chrono::seconds{30};
  Duration idle_timeout = std::chrono::seconds{30};  // of pooled connections
  std::uint32_t idle_per_endpoint = 256;             // per worker
  std::uint32_t retries = 2;
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
  std::uint64_t body_bytes = 0;   // 0: no limit
  std::uint32_t connections = 0;  // of clients, per process; 0: what the descriptor limit allows
};

enum class LogFormat : std::uint8_t { off, json, common };

struct AccessLogModel {
  LogFormat format = LogFormat::off;
  std::string path;  // "" or "-": standard output
};

struct Model {
  base::Address admin;  // invalid: no admin listener
  AccessLogModel access_log;
  Timeouts timeouts;
  Limits limits;
  std::vector<ListenerModel> listeners;
  std::vector<RouteModel> routes;
  std::vector<BackendModel> backends;
};

}  // namespace ebb::routes
