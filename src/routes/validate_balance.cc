// Rules of balancing, and of the cookies that bind clients to endpoints.
#include <algorithm>
#include <chrono>
#include <map>
#include <vector>

#include "routes/normalise.h"
#include "routes/spelling.h"
#include "routes/validate_parts.h"

namespace ebb::routes {

namespace {

constexpr Duration slow_start_max = std::chrono::hours{1};

void check_hash_header(const std::string& key, const BackendModel& backend, Refusals& refusals) {
  const bool hashes = backend.balance == Balance::header_hash;
  if (!hashes && backend.hash_header.empty()) return;
  if (!hashes) {
    refusals.refuse(key, "only balance: header_hash uses this key", "add it, or remove the key");
  } else if (!is_token(backend.hash_header) || equal_in_any_case(backend.hash_header, "host")) {
    refusals.refuse(key,
                    backend.hash_header.empty() ? "balance: header_hash needs the name of a field"
                                                : quoted(backend.hash_header) + " is not a field that can be hashed",
                    "add hash_header: NAME, such as X-Tenant");
  }
}

void check_sticky(const std::string& key, const StickyModel& sticky, Refusals& refusals) {
  if (!is_token(sticky.cookie)) {
    refusals.refuse(key + ".cookie", quoted(sticky.cookie) + " is not the name of a cookie",
                    "use letters, digits, dashes and underscores, as in EBB");
  }
  if (sticky.max_age != Duration::zero() && sticky.max_age < std::chrono::seconds{1}) {
    refusals.refuse(key + ".max_age", "browsers count whole seconds", "give at least 1s, or remove the key");
  } else {
    refusals.check_optional_timeout(key + ".max_age", sticky.max_age);
  }
  if (sticky.secure != CookieSecure::never) return;
  const bool prefixed = sticky.cookie.starts_with("__Host-") || sticky.cookie.starts_with("__Secure-");
  if (prefixed || sticky.same_site == CookieSameSite::none) {
    refusals.refuse(key + ".secure",
                    "browsers reject a cookie with " + (prefixed ? "this name" : std::string("same_site: none")) +
                        " that is not secure",
                    "use secure: always or auto");
  }
}

using Names = std::vector<std::string_view>;

Names backends_of(const RouteModel& route) {
  Names names;
  if (!route.backend.empty()) names.push_back(route.backend);
  for (const ShareModel& share : route.shares) names.push_back(share.name);
  return names;
}

}  // namespace

void check_balance(const std::string& key, const BackendModel& backend, Refusals& refusals) {
  check_hash_header(key + ".hash_header", backend, refusals);
  if (backend.sticky) check_sticky(key + ".sticky", *backend.sticky, refusals);
  if (backend.slow_start < Duration::zero() || backend.slow_start > slow_start_max) {
    refusals.refuse(key + ".slow_start", "out of range", "give at most 1h; 0s is none");
  }
}

std::string needs_http(const BackendModel& backend) {
  if (backend.sticky) return "backend " + quoted(backend.name) + " has a `sticky` section, and there are no cookies";
  if (backend.balance == Balance::header_hash) {
    return "backend " + quoted(backend.name) + " balances by a header field, and there are none";
  }
  return {};
}

// Two backends of one host that use the same cookie would unbind each other's clients with every request. Backends that
// share a route may have the same name: the cookie then also names the backend.
void check_cookies(const Model& model, const BackendsByName& backends, Refusals& refusals) {
  std::map<std::pair<std::string, std::string_view>, Names> users;
  for (std::size_t i = 0; i < model.routes.size(); ++i) {
    const RouteModel& route = model.routes[i];
    std::map<std::string_view, Names> cookies;
    for (const std::string_view name : backends_of(route)) {
      const auto backend = backends.find(name);
      if (backend == backends.end() || !backend->second->sticky) continue;
      cookies[backend->second->sticky->cookie].push_back(name);
    }
    for (const auto& [cookie, names] : cookies) {
      const auto [known, fresh] = users.try_emplace({lower_case(route.host), cookie}, names);
      const auto shared = [&known](std::string_view name) { return std::ranges::count(known->second, name) > 0; };
      if (fresh || std::ranges::any_of(names, shared)) continue;
      refusals.refuse(indexed("routes", i) + ".backend",
                      "backends " + quoted(known->second.front()) + " and " + quoted(names.front()) +
                          " give the clients of one host the same cookie " + quoted(cookie),
                      "give each a `sticky.cookie` of its own");
    }
  }
}

}  // namespace ebb::routes
