// The keys of routes.
#pragma once

#include "config/policy_keys.h"
#include "routes/route_model.h"

namespace ebb::config {

inline constexpr std::string_view tls_words[] = {"edge", "reencrypt", "passthrough"};

// A scalar means this kind of path; a mapping names the kind.
template <routes::PathKind kind>
inline constexpr Value<routes::PathModel> path_text = {
    TextFormat::type,
    [](Reader& reader, const Node& node, routes::PathModel& path) {
      path.kind = kind;
      read_scalar<TextFormat>(reader, node, path.text);
    },
    [](const routes::PathModel&) { return std::string(); },
};

inline constexpr Key<routes::PathModel> path_keys[] = {
    {"prefix", path_text<routes::PathKind::prefix>,
     "a prefix of whole segments: `/api` matches `/api` and `/api/x`, not `/apix`"},
    {"exact", path_text<routes::PathKind::exact>, "exactly this path"},
    {"regex", path_text<routes::PathKind::regex>, "an expression in RE2's syntax that matches the whole path"},
};

inline constexpr Value<routes::RouteModel> path_rule = {
    [] { return std::string("text or mapping"); },
    [](Reader& reader, const Node& node, routes::RouteModel& route) {
      if (node.kind == Node::Kind::mapping) {
        read_one_of(reader, node, Keys<routes::PathModel>(path_keys), route.path);
      } else {
        read_scalar<TextFormat>(reader, node, route.path.text);
      }
    },
    [](const routes::RouteModel&) { return std::string(); },
};

template <routes::TextKind kind>
inline constexpr Value<routes::FieldCondition> condition_text = {
    TextFormat::type,
    [](Reader& reader, const Node& node, routes::FieldCondition& condition) {
      condition.kind = kind;
      read_scalar<TextFormat>(reader, node, condition.text);
    },
    [](const routes::FieldCondition&) { return std::string(); },
};

inline constexpr Value<routes::FieldCondition> condition_present = {
    [] { return std::string("`true`"); },
    [](Reader& reader, const Node& node, routes::FieldCondition& condition) {
      condition.kind = routes::TextKind::present;
      if (node.text != "true") reader.refuse(node.mark, "expected `true`, found " + node.description(), "write true");
    },
    [](const routes::FieldCondition&) { return std::string(); },
};

inline constexpr Key<routes::FieldCondition> condition_keys[] = {
    {"exact", condition_text<routes::TextKind::exact>, "exactly this value; a text alone means the same"},
    {"regex", condition_text<routes::TextKind::regex>, "an expression in RE2's syntax that matches the whole value"},
    {"present", condition_present, "any value"},
};

inline void read_condition(Reader& reader, const Node& node, routes::FieldCondition& condition) {
  if (node.kind == Node::Kind::mapping) {
    read_one_of(reader, node, Keys<routes::FieldCondition>(condition_keys), condition);
  } else {
    read_scalar<TextFormat>(reader, node, condition.text);
  }
}

inline constexpr Key<routes::ShareModel> share_keys[] = {
    {"name", text<&routes::ShareModel::name>, "the name of a backend", Need::required},
    {"weight", count<&routes::ShareModel::weight>,
     "share of the requests, 0 to 1000000; 0: only clients that a cookie already binds to it"},
    {"request_headers", section<&routes::ShareModel::request_headers, header_edits_keys>,
     "changes of request fields, after those of the route"},
    {"response_headers", section<&routes::ShareModel::response_headers, header_edits_keys>,
     "changes of response fields, after those of the route"},
};

template <const auto& value>
constexpr Value<routes::RouteModel> condition = boxed<&routes::RouteModel::conditions, value>;
template <const auto& value>
constexpr Value<routes::RouteModel> policy = boxed<&routes::RouteModel::policy, value>;

inline constexpr Key<routes::RouteModel> route_keys[] = {
    {"name", text<&routes::RouteModel::name>, "unique; for logs and metrics; default: made of host and path"},
    {"host", text<&routes::RouteModel::host>,
     "a host name; `*.example.com`: every name below it; `*` or no key: every host"},
    {"path", path_rule, "a prefix of whole segments; or a mapping with one of the keys below"},
    {"paths", scalar<Optional<ChoiceFormat<routes::PathMode, path_words>>, &routes::RouteModel::paths>,
     "as for listeners, for requests of this route; default: the listener's"},
    {"listeners", condition<texts<&routes::ConditionsModel::listeners>>,
     "names of listeners: only their requests match"},
    {"methods", condition<texts<&routes::ConditionsModel::methods>>, "only requests with one of these methods match"},
    {"headers", condition<by_name<&routes::ConditionsModel::headers, read_condition>>,
     "only requests with all these fields match"},
    {"query", condition<by_name<&routes::ConditionsModel::query, read_condition>>,
     "only requests with all these query parameters match"},
    {"backend", text<&routes::RouteModel::backend>, "the name of a backend"},
    {"backends", list<&routes::RouteModel::shares, share_keys>, "instead of `backend`: several backends with weights"},
    {"tls", choice<&routes::RouteModel::tls, tls_words>,
     "TLS termination, re-encryption, or passthrough; see [TLS](tls.md)"},
    {"timeout", timeout<&routes::RouteModel::timeout>,
     "time from the end of the request to the start of the response; default: the backend's `timeouts.response`"},
    {"timeouts", policy<section<&routes::PolicyModel::timeouts, route_timeouts_keys>>,
     "further time-outs; default: none"},
    {"retries", scalar<Optional<CountFormat>, &routes::RouteModel::retries>,
     "number of retries of a request that is safe to repeat; default: the backend's"},
    {"redirect", policy<optional_section<&routes::PolicyModel::redirect, redirect_keys>>,
     "instead of a backend: answers with a redirect"},
    {"rewrite", policy<optional_section<&routes::PolicyModel::rewrite, rewrite_keys>>,
     "changes host and path of the request before it goes to the backend"},
    {"request_headers", policy<section<&routes::PolicyModel::request_headers, header_edits_keys>>,
     "changes of request fields, except fields of the connection"},
    {"response_headers", policy<section<&routes::PolicyModel::response_headers, header_edits_keys>>,
     "changes of response fields, except fields of the connection"},
    {"mirrors", policy<list<&routes::PolicyModel::mirrors, mirror_keys>>, "backends that get copies of the requests"},
    {"cors", policy<optional_section<&routes::PolicyModel::cors, cors_keys>>,
     "allows scripts of other sites; the router answers preflight requests itself"},
    {"hsts", policy<optional_section<&routes::PolicyModel::hsts, hsts_keys>>,
     "adds Strict-Transport-Security to responses over TLS"},
    {"allow", policy<networks<&routes::PolicyModel::allow>>, "only clients from these networks; others get 403"},
    {"deny", policy<networks<&routes::PolicyModel::deny>>,
     "clients from these networks get 403, even if `allow` has them"},
    {"rate_limit", policy<optional_section<&routes::PolicyModel::rate_limit, rate_limit_keys>>,
     "limits the request rate per client"},
    {"body_bytes", policy<scalar<Optional<SizeFormat<std::uint64_t>>, &routes::PolicyModel::body_bytes>>,
     "largest request body; a larger one gets 413; 0: no limit; default: the top level's"},
    {"errors", policy<list<&routes::PolicyModel::errors, error_keys>>,
     "bodies of the router's own error answers; they come before those of the top level"},
    {"forwarded",
     policy<scalar<Optional<ChoiceFormat<routes::ForwardedMode, forwarded_words>>, &routes::PolicyModel::forwarded>>,
     "as at the top level, for this route"},
    {"compression", policy<optional_section<&routes::PolicyModel::compression, compression_keys>>,
     "compresses responses for clients that accept it; default: off"},
};

}  // namespace ebb::config
