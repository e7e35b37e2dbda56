// A route as a provider gives it: conditions, backends and policies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "routes/boxed.h"
#include "routes/policy_model.h"

namespace ebb::routes {

enum class PathKind : std::uint8_t { prefix, exact, regex };

struct PathModel {
  PathKind kind = PathKind::prefix;
  std::string text;  // a prefix of whole segments ("" and "/" match every path), an exact path, or an expression
};

enum class TextKind : std::uint8_t { exact, regex, present };

// For a header field or a query parameter.
struct FieldCondition {
  std::string name;
  TextKind kind = TextKind::exact;
  std::string text;
};

// All must hold; one of the listeners and one of the methods must match. An empty list matches everything.
struct ConditionsModel {
  std::vector<std::string> listeners;
  std::vector<std::string> methods;
  std::vector<FieldCondition> headers;
  std::vector<FieldCondition> query;
};

struct ShareModel {
  std::string name;          // of a backend
  std::uint32_t weight = 1;  // 0: only clients already bound to it
  HeaderEditsModel request_headers;
  HeaderEditsModel response_headers;
};

enum class TlsMode : std::uint8_t {
  edge,         // TLS termination; plain to the backend
  reencrypt,    // TLS termination; a new TLS connection to the backend
  passthrough,  // no termination: the backend has the certificate
};

struct RouteModel {
  std::string name;  // for logs and metrics; default: made of host and path
  std::string host;  // "" or "*": every host; "*.example.com": any name below it
  PathModel path;
  std::string backend;             // or
  std::vector<ShareModel> shares;  // several backends, or a redirect
  Duration timeout{};              // until the response begins; 0: the backend's
  std::optional<std::uint32_t> retries;
  TlsMode tls = TlsMode::edge;
  std::optional<PathMode> paths;  // not given: the listener's
  Boxed<ConditionsModel> conditions;
  Boxed<PolicyModel> policy;
};

}  // namespace ebb::routes
