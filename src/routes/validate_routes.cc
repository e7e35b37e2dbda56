// Rules for what routes match and where they send requests.
#include <algorithm>
#include <unordered_set>

#include "routes/normalise.h"
#include "routes/path_form.h"
#include "routes/path_text.h"
#include "routes/regex.h"
#include "routes/snapshot.h"
#include "routes/spelling.h"
#include "routes/validate.h"
#include "routes/validate_parts.h"

namespace ebb::routes {

namespace {

constexpr std::uint32_t weight_max = 1'000'000;  // as in the Gateway API
constexpr std::size_t conditions_max = 16;       // as in the Gateway API, for headers and for query parameters
constexpr std::size_t shares_max = 64;

class RouteChecks {
 public:
  RouteChecks(const Model& model, const BackendsByName& backends, Refusals& refusals)
      : model_(model), backends_(backends), refusals_(refusals) {}

  void run() {
    names_.reserve(model_.routes.size());
    rules_.reserve(model_.routes.size());
    for (std::size_t i = 0; i < model_.routes.size(); ++i) check(model_.routes[i], i);
  }

 private:
  void check(const RouteModel& route, std::size_t index) {
    const std::string key = indexed("routes", index);
    if (!check_host(key, route) || !check_path(key, route) || !check_conditions(key, route)) return;
    if (!check_rule(key, route, index)) return;
    if (route.name.empty()) {
      refusals_.check_unique(key, "a route", route_name(route), index, names_);
    } else {
      refusals_.check_name(key + ".name", "a route", route.name, index, names_);
    }
    check_target(key, route);
    refusals_.check_optional_timeout(key + ".timeout", route.timeout);
    if (route.retries) refusals_.check_retries(key + ".retries", *route.retries);
    if (route.tls == TlsMode::passthrough) check_passthrough(key, route, refusals_);
    if (route.policy) check_policy(key, route, backends_, refusals_);
  }

  bool check_host(const std::string& key, const RouteModel& route) {
    if (is_any_host(route.host) || is_host_pattern(route.host)) return true;
    refusals_.refuse(key + ".host", quoted(route.host) + " is not a host",
                     "give a name such as shop.example.com, \"*.example.com\" for all names below it, or \"*\" for "
                     "every host; without a port");
    return false;
  }

  bool check_path(const std::string& key, const RouteModel& route) {
    const std::string& text = route.path.text;
    const std::string_view remedy = "begin with a slash, leave out the query, empty segments and spaces, as in /api/v1";
    switch (route.path.kind) {
      case PathKind::prefix:
        if (text.empty() || is_path(text)) return check_spelling(key + ".path", route);
        refusals_.refuse(key + ".path", quoted(text) + " is not a path prefix", std::string(remedy));
        return false;
      case PathKind::exact:
        if (is_path(text)) return check_spelling(key + ".path.exact", route);
        refusals_.refuse(key + ".path.exact", quoted(text) + " is not a path", std::string(remedy));
        return false;
      case PathKind::regex: return check_regex(key + ".path.regex", text) && check_triplets(key + ".path.regex", route);
    }
    return false;
  }

  // If requests are normalised before matching, a route in another spelling matches none of them and protects nothing.
  bool check_spelling(const std::string& key, const RouteModel& route) {
    if (has_one_spelling(route.path.text)) return true;  // nearly all routes
    std::string wanted;
    if (is_configured_form(route.path.text, wanted) || !has_one_reading(route)) return true;
    refusals_.refuse(key, quoted(route.path.text) + " never matches: requests are normalised before matching",
                     wanted.empty() ? "write `%` with two hexadecimal digits, and no backslash" : "write " + wanted);
    return false;
  }

  // Some listener normalises paths before matching, and no listener keeps them as sent.
  bool has_one_reading(const RouteModel& route) const {
    const auto has_mode = [this](auto wanted_mode) { return std::ranges::any_of(model_.listeners, wanted_mode); };
    if (has_mode([](const ListenerModel& listener) { return listener.paths == PathMode::as_is; })) return false;
    return guards(route) || has_mode([](const ListenerModel& listener) { return listener.paths.has_value(); });
  }

  // Reports only certain mistakes in an expression: `%` and two hexadecimal digits are literal, and never match in
  // small letters or where they need no encoding.
  bool check_triplets(const std::string& key, const RouteModel& route) {
    std::string wanted;
    for (std::size_t at = 0; at < route.path.text.size();) {
      const int byte = triplet(route.path.text, at);
      if (byte < 0) {
        wanted.push_back(route.path.text[at++]);
        continue;
      }
      at += triplet_size;
      const char c = static_cast<char>(byte);
      if (is_unreserved(c)) wanted += c == '.' ? "\\." : std::string(1, c);
      if (!is_unreserved(c)) append_triplet(wanted, c);
    }
    // Alternatives may contain both forms, classes match single characters, flags may ignore case.
    const bool plain = route.path.text.find_first_of("|[") == std::string::npos && !route.path.text.contains("\\%") &&
                       !route.path.text.contains("(?");
    if (wanted == route.path.text || !plain || !has_one_reading(route)) return true;
    refusals_.refuse(key, quoted(route.path.text) + " never matches: requests are normalised before matching",
                     "write " + wanted);
    return false;
  }

  bool check_regex(const std::string& key, const std::string& pattern) {
    if (pattern.empty()) {
      refusals_.refuse(key, "an empty expression matches nothing but the empty text",
                       "give an expression such as /a.*");
      return false;
    }
    const auto compiled = Regex::compile(pattern);
    if (compiled) return true;
    refusals_.refuse(key, "not a regular expression: " + compiled.error(),
                     "write it in RE2's syntax, which has no look-around and no back-references");
    return false;
  }

  bool check_conditions(const std::string& key, const RouteModel& route) {
    if (!route.conditions) return true;
    const ConditionsModel& conditions = *route.conditions;
    bool ok = true;
    for (std::size_t i = 0; i < conditions.listeners.size(); ++i) {
      if (std::ranges::find(model_.listeners, conditions.listeners[i], &ListenerModel::name) !=
          model_.listeners.end()) {
        continue;
      }
      refusals_.refuse(key + indexed(".listeners", i), "there is no listener " + quoted(conditions.listeners[i]),
                       "name one of the listeners");
      ok = false;
    }
    for (std::size_t i = 0; i < conditions.methods.size(); ++i) ok &= check_method(key, conditions.methods[i], i);
    ok &= check_fields(key + ".headers", conditions.headers, true);
    ok &= check_fields(key + ".query", conditions.query, false);
    return ok;
  }

  // Methods are case-sensitive (RFC 9110 section 9.1), and all registered methods are in capitals.
  bool check_method(const std::string& key, const std::string& method, std::size_t index) {
    const bool has_lower = std::ranges::any_of(method, [](char c) { return c >= 'a' && c <= 'z'; });
    if (is_token(method) && !has_lower) return true;
    refusals_.refuse(key + indexed(".methods", index), quoted(method) + " is not a method",
                     "write it in capitals: GET, POST");
    return false;
  }

  bool check_fields(const std::string& key, const std::vector<FieldCondition>& fields, bool headers) {
    if (fields.size() > conditions_max) {
      refusals_.refuse(key, std::to_string(fields.size()) + " conditions are too many",
                       "give at most " + std::to_string(conditions_max));
      return false;
    }
    bool ok = true;
    std::unordered_set<std::string> names;
    for (const FieldCondition& field : fields) {
      const std::string field_key = key + "." + field.name;
      ok &= check_field(field_key, field, headers);
      if (names.insert(headers ? lower_case(field.name) : field.name).second) continue;
      refusals_.refuse(field_key, "the name is given twice", "make one condition of the two");
      ok = false;
    }
    return ok;
  }

  bool check_field(const std::string& key, const FieldCondition& field, bool header) {
    if (header && equal_in_any_case(field.name, "host")) {
      refusals_.refuse(key, "Host is not a condition", "use the route's `host`");
      return false;
    }
    const bool name_ok = header ? is_token(field.name) : !field.name.empty() && is_field_value(field.name);
    if (!name_ok) {
      refusals_.refuse(key, quoted(field.name) + (header ? " is not the name of a field" : " is not a parameter"),
                       header ? "use letters, digits and dashes, as in X-Version" : "give a name such as version");
      return false;
    }
    if (field.kind == TextKind::regex) return check_regex(key + ".regex", field.text);
    if (is_field_value(field.text)) return true;
    refusals_.refuse(key, "no request can have this value", "leave out control characters and white space around it");
    return false;
  }

  // The matching rules of a route as a text: equal for two routes that match the same requests.
  static std::string rule_of(const RouteModel& route) {
    HostBuffer buffer;
    const bool wildcard = route.host.starts_with("*.");
    const std::string_view host = wildcard ? std::string_view(route.host).substr(2) : std::string_view(route.host);
    std::string rule = wildcard ? "*." : "";
    rule += is_any_host(host) ? "*" : normalise_host(host, buffer);
    if (route.tls == TlsMode::passthrough) return rule + "\n";
    constexpr std::string_view kinds[] = {"", "=", "~"};
    rule += kinds[static_cast<std::size_t>(route.path.kind)];
    rule += route.path.kind == PathKind::prefix ? normalise_prefix(route.path.text) : route.path.text;
    if (route.conditions) add_conditions(*route.conditions, rule);
    return rule;
  }

  static void add_conditions(const ConditionsModel& conditions, std::string& rule) {
    const auto add_list = [&rule](std::vector<std::string> words) {
      std::ranges::sort(words);
      for (const std::string& word : words) rule += "\n" + word;
      rule += "\n";
    };
    const auto add_fields = [&](const std::vector<FieldCondition>& fields, bool headers) {
      std::vector<std::string> words;
      for (const FieldCondition& field : fields) {
        words.push_back((headers ? lower_case(field.name) : field.name) + "\t" +
                        std::to_string(static_cast<int>(field.kind)) + field.text);
      }
      add_list(std::move(words));
    };
    if (conditions.listeners.empty() && conditions.methods.empty() && conditions.headers.empty() &&
        conditions.query.empty()) {
      return;
    }
    add_list(conditions.listeners);
    add_list(conditions.methods);
    add_fields(conditions.headers, true);
    add_fields(conditions.query, false);
  }

  bool check_rule(const std::string& key, const RouteModel& route, std::size_t index) {
    const auto [first, fresh] = rules_.add(0, rule_of(route), static_cast<std::uint32_t>(index));
    if (fresh) return true;
    refusals_.refuse(key + ".path", indexed("routes", first) + " already has this host and path",
                     "remove one of the two, or change its host, path or conditions");
    return false;
  }

  void check_target(const std::string& key, const RouteModel& route) {
    const bool redirects = route.policy && route.policy->redirect;
    if (redirects || !route.shares.empty()) {
      if (!route.backend.empty()) {
        refusals_.refuse(key + ".backend",
                         redirects ? "a redirect sends nothing to a backend" : "there is a list of backends already",
                         std::string("remove `backend` or `") + (redirects ? "redirect`" : "backends`"));
      }
      if (redirects && !route.shares.empty()) {
        refusals_.refuse(key + ".backends", "a redirect sends nothing to a backend", "remove `backends` or `redirect`");
      }
      if (!redirects) check_shares(key, route);
      return;
    }
    const BackendModel* backend = refusals_.check_backend(key + ".backend", "a route", route.backend, backends_);
    if (backend != nullptr) check_tls(key, route, *backend);
  }

  void check_shares(const std::string& key, const RouteModel& route) {
    if (route.shares.size() > shares_max) {
      refusals_.refuse(key + ".backends", "the list is too long", "give at most " + std::to_string(shares_max));
    }
    Refusals::Seen names;
    for (std::size_t i = 0; i < route.shares.size(); ++i) {
      const ShareModel& share = route.shares[i];
      const std::string share_key = key + indexed(".backends", i);
      const BackendModel* backend = refusals_.check_backend(share_key + ".name", "a share", share.name, backends_);
      if (backend == nullptr) continue;
      refusals_.check_unique(share_key + ".name", "a share", share.name, i, names);
      refusals_.check_range(share_key + ".weight", share.weight, 0, weight_max);
      check_header_edits(share_key + ".request_headers", share.request_headers, refusals_);
      check_header_edits(share_key + ".response_headers", share.response_headers, refusals_);
      check_tls(key, route, *backend);
    }
  }

  // An operator must not believe that the connection to a backend is encrypted when it is not, or the reverse.
  void check_tls(const std::string& key, const RouteModel& route, const BackendModel& backend) {
    if (route.tls == TlsMode::reencrypt && !backend.tls) {
      refusals_.refuse(key + ".tls", "backend " + quoted(backend.name) + " has no `tls` section",
                       "add one, or use tls: edge");
    }
    if (route.tls != TlsMode::reencrypt && backend.tls) {
      refusals_.refuse(key + ".tls", "backend " + quoted(backend.name) + " has a `tls` section",
                       "add tls: reencrypt to the route, or remove the section");
    }
    if (route.tls != TlsMode::passthrough) return;
    if (const std::string reason = needs_http(backend); !reason.empty()) {
      refusals_.refuse(key + ".tls", reason, "use tls: edge or tls: reencrypt, or balance by source_hash");
    }
  }

  const Model& model_;
  const BackendsByName& backends_;
  Refusals& refusals_;
  Refusals::Seen names_;
  Refusals::Seen rules_;
};

}  // namespace

void check_routes(const Model& model, const BackendsByName& backends, Refusals& refusals) {
  RouteChecks(model, backends, refusals).run();
}

std::string route_name(const RouteModel& route) {
  if (!route.name.empty()) return route.name;
  const std::string host = route.host.empty() ? "*" : route.host;
  if (route.tls == TlsMode::passthrough) return host;
  switch (route.path.kind) {
    case PathKind::prefix: return host + (route.path.text.empty() ? "/" : route.path.text);
    case PathKind::exact: return host + "=" + route.path.text;
    case PathKind::regex: break;
  }
  // Expressions may contain characters that names may not.
  std::string name = host + "~" + route.path.text;
  name.resize(std::min(name.size(), name_length_max));
  std::ranges::replace_if(name, [](char c) { return !is_name(std::string_view(&c, 1)); }, '_');
  return name;
}

}  // namespace ebb::routes
