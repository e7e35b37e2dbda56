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

// Field names are case-insensitive. `set` replaces a field, `add` appends to it.
struct HeaderEditsModel {
  std::vector<FieldModel> set;
  std::vector<FieldModel> add;
  std::vector<std::string> remove;
};

// At most one of the two.
struct PathChangeModel {
  std::optional<std::string> path;    // replaces the whole path
  std::optional<std::string> prefix;  // replaces the prefix that the route matched
};

struct RedirectModel {
  std::uint32_t status = 302;
  std::string scheme;      // "": the request's
  std::string host;        // "": the request's
  std::uint32_t port = 0;  // 0: the scheme's if a scheme is given, else the listener's
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

// A status, or a class of statuses: 500 to 599.
struct StatusRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
};

// A text that the provider read from a file. Shared by all routes that name the file.
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
  append,   // after the request's own fields
  replace,  // drop the request's own fields
  if_none,  // only if the request has none
  never,    // pass the request's own fields unchanged
};

// How the router treats a path with more than one spelling. path_form.h has the rules.
enum class PathMode : std::uint8_t {
  normalise,  // normalise; a path that is still ambiguous must not bypass a route
  refuse,     // accept only paths in normal form
  as_is,      // as sent
};

enum class Coding : std::uint8_t { gzip, brotli, zstd };

struct CompressionModel {
  std::vector<std::string> types = {"text/html", "text/css", "text/plain", "application/javascript",
                                    "application/json"};
  std::uint32_t min_bytes = 1024;
  std::vector<Coding> codings = {Coding::zstd, Coding::brotli, Coding::gzip};  // in order of preference
};

// Zero: not set; the backend's or the global value applies.
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
  bool guards = false;  // no other spelling of a path may bypass this route (path_choice.h)
  bool opens = true;    // needs decrypted traffic, so it cannot work with passthrough
};

// All options of a policy. A new member does not compile until it is listed here.
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
