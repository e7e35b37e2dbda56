// Rules for what routes do to requests and responses.
#include <algorithm>
#include <unordered_set>

#include "routes/normalise.h"
#include "routes/spelling.h"
#include "routes/validate_parts.h"

namespace ebb::routes {

namespace {

constexpr std::size_t header_edits_max = 64;
constexpr std::size_t mirrors_max = 8;
constexpr std::size_t list_length_max = 64;
constexpr std::uint32_t rate_max = 1'000'000;
constexpr Duration day = std::chrono::hours{24};

struct OwnField {
  std::string_view name;
  std::string_view remedy;
};
// These fields describe the connection or frame the message (RFC 9110 section 7.6.1, RFC 9112 section 6). The router
// writes them itself: a second value could make the two sides see different messages.
constexpr std::string_view leave_alone = "remove it: the router writes this field itself";
constexpr OwnField own_fields[] = {
    {"host", "use rewrite: {host: NAME}"},
    {"connection", leave_alone},
    {"keep-alive", leave_alone},
    {"proxy-connection", leave_alone},
    {"te", leave_alone},
    {"trailer", leave_alone},
    {"transfer-encoding", leave_alone},
    {"content-length", leave_alone},
    {"upgrade", leave_alone},
    {"expect", leave_alone},
};

void check_field_name(const std::string& key, const std::string& name, Refusals& refusals) {
  if (!is_token(name)) {
    refusals.refuse(key, quoted(name) + " is not the name of a field",
                    "use letters, digits and dashes, as in X-Request-Start");
    return;
  }
  for (const OwnField& own : own_fields) {
    if (!equal_in_any_case(own.name, name)) continue;
    refusals.refuse(key, name + " belongs to the connection, not to the message", std::string(own.remedy));
  }
  if (lower_case(name).starts_with("x-client-certificate")) {
    refusals.refuse(key, name + " says what the router knows about a client's certificate", std::string(leave_alone));
  }
}

class PolicyChecks {
 public:
  PolicyChecks(std::string key, const RouteModel& route, const BackendsByName& backends, Refusals& refusals)
      : key_(std::move(key)), route_(route), policy_(*route.policy), backends_(backends), refusals_(refusals) {}

  void run() {
    if (policy_.redirect) check_redirect(*policy_.redirect);
    if (policy_.rewrite) check_rewrite(*policy_.rewrite);
    check_header_edits(key_ + ".request_headers", policy_.request_headers, refusals_);
    check_header_edits(key_ + ".response_headers", policy_.response_headers, refusals_);
    check_mirrors();
    if (policy_.cors) check_cors(*policy_.cors);
    if (policy_.hsts) check_hsts(*policy_.hsts);
    if (policy_.rate_limit) check_rate_limit(*policy_.rate_limit);
    check_timeouts(policy_.timeouts);
    check_errors(key_ + ".errors", policy_.errors, refusals_);
    if (policy_.compression) check_compression(*policy_.compression);
  }

 private:
  void refuse(std::string_view part, std::string reason, std::string remedy) {
    refusals_.refuse(key_ + std::string(part), std::move(reason), std::move(remedy));
  }

  void check_host(std::string_view part, const std::string& host) {
    if (host.empty() || is_host(host)) return;
    refuse(part, quoted(host) + " is not a host", "give a name such as shop.example.com, without a port");
  }

  void check_change(const std::string& part, const PathChangeModel& change) {
    if (change.path && change.prefix) {
      refuse(part, "the whole path and its prefix cannot both be replaced", "give `path` or `prefix`");
    }
    if (change.prefix && route_.path.kind != PathKind::prefix) {
      refuse(part + ".prefix", "the route does not match by a prefix", "use `path`, or match by a prefix");
    }
    if (change.path && !is_path(*change.path)) {
      refuse(part + ".path", quoted(*change.path) + " is not a path", "begin with a slash, leave out the query");
    }
    if (change.prefix && !change.prefix->empty() && !is_path(*change.prefix)) {
      refuse(part + ".prefix", quoted(*change.prefix) + " is not a path prefix", "begin with a slash, as in /v2");
    }
  }

  void check_redirect(const RedirectModel& redirect) {
    constexpr std::uint32_t statuses[] = {301, 302, 303, 307, 308};
    if (std::ranges::find(statuses, redirect.status) == std::end(statuses)) {
      refuse(".redirect.status", std::to_string(redirect.status) + " is not a redirect status with a Location",
             "give 301 or 308 (permanent), 302 or 307 (temporary), or 303 (GET)");
    }
    if (!redirect.scheme.empty() && redirect.scheme != "http" && redirect.scheme != "https") {
      refuse(".redirect.scheme", quoted(redirect.scheme) + " is not a scheme of HTTP", "give http or https");
    }
    check_host(".redirect.host", redirect.host);
    refusals_.check_range(key_ + ".redirect.port", redirect.port, 0, 65535);
    check_change(".redirect", redirect.change);
    const bool changes = !redirect.scheme.empty() || !redirect.host.empty() || redirect.port != 0 ||
                         redirect.change.path || redirect.change.prefix;
    if (!changes) refuse(".redirect", "the redirect leads back to the same URL", "change scheme, host, port or path");
    if (policy_.rewrite)
      refuse(".rewrite", "a redirect sends nothing that could be rewritten", "remove one of the two");
    if (!policy_.mirrors.empty()) refuse(".mirrors", "a redirect sends nothing to a backend", "remove one of the two");
  }

  void check_rewrite(const RewriteModel& rewrite) {
    check_host(".rewrite.host", rewrite.host);
    check_change(".rewrite", rewrite.change);
    if (rewrite.host.empty() && !rewrite.change.path && !rewrite.change.prefix) {
      refuse(".rewrite", "the rewrite changes nothing", "give `host`, `path` or `prefix`, or remove it");
    }
  }

  void check_mirrors() {
    if (policy_.mirrors.size() > mirrors_max) refuse(".mirrors", "the list is too long", "give at most 8");
    for (std::size_t i = 0; i < policy_.mirrors.size(); ++i) {
      const std::string mirror = key_ + indexed(".mirrors", i);
      refusals_.check_backend(mirror + ".backend", "a mirror", policy_.mirrors[i].backend, backends_);
      refusals_.check_range(mirror + ".percent", policy_.mirrors[i].percent, 0, 100);
    }
  }

  void check_cors(const CorsModel& cors) {
    if (cors.origins.empty()) {
      refuse(".cors.origins", "the list of origins is empty", "add origins: [\"https://shop.example.com\"]");
    }
    for (std::size_t i = 0; i < cors.origins.size(); ++i) {
      if (cors.origins[i] == "*" && cors.credentials) {
        refuse(indexed(".cors.origins", i), "with credentials, any site could act as a logged-in user",
               "name the origins, or remove credentials: true");
      } else if (cors.origins[i] != "*" && !is_origin_pattern(cors.origins[i])) {
        refuse(indexed(".cors.origins", i), quoted(cors.origins[i]) + " is not an origin",
               "write scheme and host in lower case, as in https://shop.example.com or https://*.example.com");
      }
    }
    check_tokens(".cors.methods", cors.methods);
    check_tokens(".cors.headers", cors.headers);
    check_tokens(".cors.expose", cors.expose);
    if (cors.max_age > day) refuse(".cors.max_age", "no browser keeps it longer than a day", "give at most 24h");
  }

  // "*" is also a token.
  void check_tokens(const std::string& part, const std::vector<std::string>& words) {
    if (words.size() > list_length_max) refuse(part, "the list is too long", "give at most 64");
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (is_token(words[i])) continue;
      refuse(part + indexed("", i), quoted(words[i]) + " is not a name",
             "give a name alone, without spaces and commas");
    }
  }

  // The rules of the browsers' preload list (hstspreload.org): a name stays on it for months.
  void check_hsts(const HstsModel& hsts) {
    if (hsts.preload && (!hsts.include_subdomains || hsts.max_age < 365 * day)) {
      refuse(".hsts.preload", "the browsers' preload list requires at least a year and all subdomains",
             "add include_subdomains: true and max_age: 8760h, or remove preload");
    }
  }

  void check_rate_limit(const RateLimitModel& limit) {
    refusals_.check_range(key_ + ".rate_limit.requests", limit.requests, 1, rate_max, "requests per second");
    refusals_.check_range(key_ + ".rate_limit.burst", limit.burst, 0, rate_max);
  }

  void check_timeouts(const RouteTimeouts& timeouts) {
    refusals_.check_optional_timeout(key_ + ".timeouts.request", timeouts.request);
    refusals_.check_optional_timeout(key_ + ".timeouts.try", timeouts.attempt);
    refusals_.check_optional_timeout(key_ + ".timeouts.idle", timeouts.idle);
    refusals_.check_optional_timeout(key_ + ".timeouts.tunnel_idle", timeouts.tunnel_idle);
    refusals_.check_optional_timeout(key_ + ".timeouts.tunnel_age", timeouts.tunnel_age);
    const bool both = timeouts.request != Duration::zero() && timeouts.attempt != Duration::zero();
    if (both && timeouts.attempt > timeouts.request) {
      refuse(".timeouts.try", "one try cannot take longer than the whole request", "give at most `request`");
    }
  }

  void check_compression(const CompressionModel& compression) {
    if (compression.types.empty() || compression.types.size() > list_length_max) {
      refuse(".compression.types", "the list is empty or too long", "give 1 to 64");
    }
    for (std::size_t i = 0; i < compression.types.size(); ++i) {
      if (is_media_range(compression.types[i])) continue;
      refuse(indexed(".compression.types", i), quoted(compression.types[i]) + " is not a media type",
             "write text/html or text/*");
    }
    if (compression.codings.empty()) refuse(".compression.codings", "there is no coding", "give one, such as gzip");
    for (std::size_t i = 1; i < compression.codings.size(); ++i) {
      const auto here = compression.codings.begin() + static_cast<std::ptrdiff_t>(i);
      if (std::find(compression.codings.begin(), here, *here) == here) continue;
      refuse(indexed(".compression.codings", i), "the coding is given twice", "remove one of the two");
    }
  }

  const std::string key_;
  const RouteModel& route_;
  const PolicyModel& policy_;
  const BackendsByName& backends_;
  Refusals& refusals_;
};

}  // namespace

void check_policy(const std::string& key, const RouteModel& route, const BackendsByName& backends, Refusals& refusals) {
  PolicyChecks(key, route, backends, refusals).run();
}

void check_header_edits(const std::string& key, const HeaderEditsModel& edits, Refusals& refusals) {
  if (edits.set.size() + edits.add.size() + edits.remove.size() > header_edits_max) {
    refusals.refuse(key, "there are too many changes", "give at most 64");
  }
  std::unordered_set<std::string> names;
  const auto check = [&](const std::string& place, const std::string& name) {
    check_field_name(place, name, refusals);
    if (names.insert(lower_case(name)).second) return;
    refusals.refuse(place, name + " is changed twice", "make one change of the two");
  };
  const auto check_fields = [&](const char* kind, const std::vector<FieldModel>& fields) {
    for (const FieldModel& field : fields) {
      const std::string place = key + kind + field.name;
      check(place, field.name);
      if (is_field_value(field.value)) continue;
      refusals.refuse(place, "the value is not valid in a header field",
                      "leave out line ends, other control characters and white space around it");
    }
  };
  check_fields(".set.", edits.set);
  check_fields(".add.", edits.add);
  for (std::size_t i = 0; i < edits.remove.size(); ++i) check(key + indexed(".remove", i), edits.remove[i]);
}

void check_errors(const std::string& key, std::span<const ErrorBodyModel> errors, Refusals& refusals) {
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const ErrorBodyModel& error = errors[i];
    const std::string place = key + indexed("", i);
    if (error.statuses.first < 400 || error.statuses.last > 599) {
      refusals.refuse(place + ".status", "an error has a status from 400 to 599", "give a status or 4xx or 5xx");
    }
    const bool has_file = error.file.content != nullptr;
    if (error.text.has_value() == has_file) {
      refusals.refuse(place, "an error body has one source", "give either `body` or `file`");
    }
    if (error.content_type.empty() || !is_field_value(error.content_type)) {
      refusals.refuse(place + ".type", quoted(error.content_type) + " is not a media type",
                      "write one such as text/html; charset=utf-8");
    }
    const auto same = [&error](const ErrorBodyModel& other) {
      return other.statuses.first == error.statuses.first && other.statuses.last == error.statuses.last;
    };
    if (std::ranges::any_of(errors.first(i), same)) {
      refusals.refuse(place + ".status", "this status already has a body", "remove one of the two");
    }
  }
}

}  // namespace ebb::routes
