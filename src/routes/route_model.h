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
  std::string text;  // a prefix of whole segments, of which "" and "/" are every path; a path; an expression
};

enum class TextKind : std::uint8_t { exact, regex, present };

// Of a header field or of a query parameter.
struct FieldCondition {
  std::string name;
  TextKind kind = TextKind::exact;
  std::string text;
};

// All must hold; of the listeners and methods, one must be the request's. An empty list asks nothing.
struct ConditionsModel {
  std::vector<std::string> listeners;
  std::vector<std::string> methods;
  std::vector<FieldCondition> headers;
  std::vector<FieldCondition> query;
};

struct ShareModel {
  std::string name;          // of a backend
  std::uint32_t weight = 1;  // 0: only clients that are bound to it already
  HeaderEditsModel request_headers;
  HeaderEditsModel response_headers;
};

enum class TlsMode : std::uint8_t {
  edge,         // ends here; plain to the backend
  reencrypt,    // ends here; TLS of its own to the backend
  passthrough,  // does not end here: the backend has the certificate
};

struct RouteModel {
  std::string name;  // for logs and metrics; made of host and path if not given
  std::string host;  // "" or "*": every host; "*.example.com": any name below it
  PathModel path;
  std::string backend;             // or
  std::vector<ShareModel> shares;  // several, or a redirect
  Duration timeout{};              // until the response begins; 0: the backend's
  std::optional<std::uint32_t> retries;
  TlsMode tls = TlsMode::edge;
  std::optional<PathMode> paths;  // not given: the listener's
  Boxed<ConditionsModel> conditions;
  Boxed<PolicyModel> policy;
};

}  // namespace ebb::routes
