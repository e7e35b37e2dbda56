// The policies of a route, besides the choice of a backend: plain values, as a provider gives them. policy.h makes them
// ready for use; the gate applies them.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "routes/address_set.h"

namespace ebb::routes {

using base::Duration;

struct FieldModel {
  std::string name;
  std::string value;
};

// Field names are equal in any case. `set` replaces what is there, `add` leaves it and appends.
struct HeaderEditsModel {
  std::vector<FieldModel> set;
  std::vector<FieldModel> add;
  std::vector<std::string> remove;
};

// At most one of the two.
struct PathChangeModel {
  std::optional<std::string> path;    // instead of the whole path
  std::optional<std::string> prefix;  // instead of the prefix that the route matched
};

struct RedirectModel {
  std::uint32_t status = 302;
  std::string scheme;      // "": the request's
  std::string host;        // "": the request's
  std::uint32_t port = 0;  // 0: that of the scheme if one is given, else the listener's
  PathChangeModel change;
};

struct RewriteModel {
  std::string host;  // "": the request's
  PathChangeModel change;
};

struct MirrorModel {
  std::string backend;
  std::uint32_t percent = 100;
};

struct CorsModel {
  std::vector<std::string> origins;  // "https://shop.example.com", "https://*.example.com", "*"
  std::vector<std::string> methods;  // "*": each
  std::vector<std::string> headers;  // "*": each
  std::vector<std::string> expose;
  bool credentials = false;
  Duration max_age = std::chrono::seconds{5};
};

struct HstsModel {
  Duration max_age = std::chrono::hours{24 * 365};
  bool include_subdomains = false;
  bool preload = false;
};

struct RateLimitModel {
  std::uint32_t requests = 0;  // per second and client address
  std::uint32_t burst = 0;     // 0: as many as `requests`
};

// A status, or a class of them: 500 to 599.
struct StatusRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
};

// A text that was read from a file when the provider saw its name. Shared by all who name it.
struct TextFile {
  std::string path;
  std::shared_ptr<const std::string> content;
};

// Exactly one of `text` and `file`.
struct ErrorBodyModel {
  StatusRange statuses;
  std::optional<std::string> text;
  TextFile file;
  std::string content_type = "text/html; charset=utf-8";

  const std::string& body() const { return text ? *text : *file.content; }
};

// How the router sets Forwarded and X-Forwarded-*, which name the client.
enum class ForwardedMode : std::uint8_t {
  append,   // behind what the request brought
  replace,  // what the request brought is dropped
  if_none,  // only if the request brought none
  never,    // the request's own pass unchanged
};

// How the router treats a path with more than one spelling. path_form.h has the rules.
enum class PathMode : std::uint8_t {
  normalise,  // one spelling is made of it; what still can be read in two ways must not lead around a route
  refuse,     // only the one spelling is served
  as_is,      // as it was sent
};

enum class Coding : std::uint8_t { gzip, brotli, zstd };

struct CompressionModel {
  std::vector<std::string> types = {"text/html", "text/css", "text/plain", "application/javascript",
                                    "application/json"};
  std::uint32_t min_bytes = 1024;
  std::vector<Coding> codings = {Coding::zstd, Coding::brotli, Coding::gzip};  // the first that the client takes
};

// Zero: not set, so that the backend's or the global one holds.
struct RouteTimeouts {
  Duration request{};      // from the head of the request to the end of the response
  Duration attempt{};      // the same for one attempt at one endpoint
  Duration idle{};         // between two pieces of a body
  Duration tunnel_idle{};  // without a byte either way in an upgraded connection
  Duration tunnel_age{};   // of an upgraded connection
};

struct PolicyModel {
  std::optional<RedirectModel> redirect;
  std::optional<RewriteModel> rewrite;
  HeaderEditsModel request_headers;
  HeaderEditsModel response_headers;
  std::vector<MirrorModel> mirrors;
  std::optional<CorsModel> cors;
  std::optional<HstsModel> hsts;
  std::vector<Cidr> allow;
  std::vector<Cidr> deny;
  std::optional<RateLimitModel> rate_limit;
  std::optional<std::uint64_t> body_bytes;  // 0: no limit
  RouteTimeouts timeouts;
  std::vector<ErrorBodyModel> errors;
  std::optional<ForwardedMode> forwarded;
  std::optional<CompressionModel> compression;
};

struct PolicyOption {
  const char* key;
  bool given;
  bool guards = false;  // a spelling of the path that leads to another route must not escape it (path_choice.h)
  bool opens = true;    // needs more than the server name and the client's address: not with passthrough
};

// All options of a policy. A new member does not compile until it is named here.
inline auto options_of(const PolicyModel& policy) {
  const auto& [redirect, rewrite, request_headers, response_headers, mirrors, cors, hsts, allow, deny, rate_limit,
               body_bytes, timeouts, errors, forwarded, compression] = policy;
  const auto& [request, attempt, idle, tunnel_idle, tunnel_age] = timeouts;
  const auto any = [](const HeaderEditsModel& edits) {
    return !edits.set.empty() || !edits.add.empty() || !edits.remove.empty();
  };
  return std::to_array<PolicyOption>({
      {.key = ".redirect", .given = redirect.has_value(), .guards = true},
      {.key = ".rewrite", .given = rewrite.has_value()},
      {.key = ".request_headers", .given = any(request_headers), .guards = true},
      {.key = ".response_headers", .given = any(response_headers)},
      {.key = ".mirrors", .given = !mirrors.empty()},
      {.key = ".cors", .given = cors.has_value()},
      {.key = ".hsts", .given = hsts.has_value()},
      {.key = ".allow", .given = !allow.empty(), .guards = true, .opens = false},
      {.key = ".deny", .given = !deny.empty(), .guards = true, .opens = false},
      {.key = ".rate_limit", .given = rate_limit.has_value(), .guards = true},
      {.key = ".body_bytes", .given = body_bytes.has_value(), .guards = true},
      {.key = ".timeouts.request", .given = request != Duration::zero()},
      {.key = ".timeouts.try", .given = attempt != Duration::zero()},
      {.key = ".timeouts.idle", .given = idle != Duration::zero()},
      {.key = ".timeouts.tunnel_idle", .given = tunnel_idle != Duration::zero(), .opens = false},
      {.key = ".timeouts.tunnel_age", .given = tunnel_age != Duration::zero(), .opens = false},
      {.key = ".errors", .given = !errors.empty()},
      {.key = ".forwarded", .given = forwarded.has_value()},
      {.key = ".compression", .given = compression.has_value()},
  });
}

}  // namespace ebb::routes
