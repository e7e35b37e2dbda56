// On a passthrough route the router sees the client's server name and two byte streams. Validation refuses options that
// need more, instead of ignoring them.
#include <algorithm>

#include "routes/validate_parts.h"

namespace ebb::routes {

namespace {

struct Part {
  bool given;
  const char* key;
};

bool any(const HeaderEditsModel& edits) { return !edits.set.empty() || !edits.add.empty() || !edits.remove.empty(); }

void refuse_given(const std::string& route_key, std::initializer_list<Part> parts, Refusals& refusals) {
  for (const Part& part : parts) {
    if (!part.given) continue;
    refusals.refuse(route_key + part.key, "the router does not decrypt a passthrough route, so it cannot do this",
                    "remove the key, or use tls: edge or tls: reencrypt");
  }
}

}  // namespace

void check_passthrough(const std::string& key, const RouteModel& route, Refusals& refusals) {
  const bool shares_edit = std::ranges::any_of(
      route.shares, [](const ShareModel& share) { return any(share.request_headers) || any(share.response_headers); });
  refuse_given(key,
               {{!route.path.text.empty(), ".path"},
                {route.timeout != Duration::zero(), ".timeout"},
                {route.retries.has_value(), ".retries"},
                {route.paths.has_value(), ".paths"},
                {shares_edit, ".backends"}},
               refusals);
  if (route.conditions) {
    refuse_given(key,
                 {{!route.conditions->listeners.empty(), ".listeners"},
                  {!route.conditions->methods.empty(), ".methods"},
                  {!route.conditions->headers.empty(), ".headers"},
                  {!route.conditions->query.empty(), ".query"}},
                 refusals);
  }
  if (!route.policy) return;
  for (const PolicyOption& option : options_of(*route.policy)) {
    if (option.opens) refuse_given(key, {{option.given, option.key}}, refusals);
  }
}

}  // namespace ebb::routes
