// The keys of routes.
#pragma once

#include "config/policy_keys.h"
#include "routes/route_model.h"

namespace ebb::config {

inline constexpr std::string_view tls_words[] = {"edge", "reencrypt", "passthrough"};

// A text is one kind; a mapping says which.
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
    {"prefix", path_text<routes::PathKind::prefix>, "whole segments: `/api` is `/api` and `/api/x`, not `/apix`"},
    {"exact", path_text<routes::PathKind::exact>, "this path and no other"},
    {"regex", path_text<routes::PathKind::regex>, "an expression in RE2's syntax that fits the whole path"},
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
    {"exact", condition_text<routes::TextKind::exact>, "this value and no other; a text alone means the same"},
    {"regex", condition_text<routes::TextKind::regex>, "an expression in RE2's syntax that fits the whole value"},
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
     "its part of the requests, 0 to 1000000; 0 gets only clients that are bound to it already"},
    {"request_headers", section<&routes::ShareModel::request_headers, header_edits_keys>,
     "changes of the request, after those of the route"},
    {"response_headers", section<&routes::ShareModel::response_headers, header_edits_keys>,
     "changes of the response, after those of the route"},
};

template <const auto& value>
constexpr Value<routes::RouteModel> condition = boxed<&routes::RouteModel::conditions, value>;
template <const auto& value>
constexpr Value<routes::RouteModel> policy = boxed<&routes::RouteModel::policy, value>;

inline constexpr Key<routes::RouteModel> route_keys[] = {
    {"name", text<&routes::RouteModel::name>, "unique; for logs and metrics; made of host and path if not given"},
    {"host", text<&routes::RouteModel::host>,
     "a name, `*.example.com` for every name below it, `*` or nothing for every host"},
    {"path", path_rule, "a prefix of whole segments; or a mapping with one of the keys below"},
    {"paths", scalar<Optional<ChoiceFormat<routes::PathMode, path_words>>, &routes::RouteModel::paths>,
     "as for listeners, for requests of this route; the listener's if not given"},
    {"listeners", condition<texts<&routes::ConditionsModel::listeners>>,
     "names of listeners: only requests that come in there"},
    {"methods", condition<texts<&routes::ConditionsModel::methods>>, "only these methods"},
    {"headers", condition<by_name<&routes::ConditionsModel::headers, read_condition>>,
     "only requests that have all these fields"},
    {"query", condition<by_name<&routes::ConditionsModel::query, read_condition>>,
     "only requests that have all these parameters in their query"},
    {"backend", text<&routes::RouteModel::backend>, "the name of a backend"},
    {"backends", list<&routes::RouteModel::shares, share_keys>, "instead of `backend`: several, by weight"},
    {"tls", choice<&routes::RouteModel::tls, tls_words>,
     "where TLS ends: here, here with TLS of its own to the backend, or at the backend"},
    {"timeout", timeout<&routes::RouteModel::timeout>,
     "how long the endpoint may be silent before its response begins; the backend's `response` if not given"},
    {"timeouts", policy<section<&routes::PolicyModel::timeouts, route_timeouts_keys>>,
     "further ones; none if not given"},
    {"retries", scalar<Optional<CountFormat>, &routes::RouteModel::retries>,
     "how often a request that is safe to repeat is sent again; the backend's if not given"},
    {"redirect", policy<optional_section<&routes::PolicyModel::redirect, redirect_keys>>,
     "instead of a backend: the client is sent elsewhere"},
    {"rewrite", policy<optional_section<&routes::PolicyModel::rewrite, rewrite_keys>>, "what the backend sees"},
    {"request_headers", policy<section<&routes::PolicyModel::request_headers, header_edits_keys>>,
     "changes of the request; not of fields that belong to the connection"},
    {"response_headers", policy<section<&routes::PolicyModel::response_headers, header_edits_keys>>,
     "changes of the response; not of fields that belong to the connection"},
    {"mirrors", policy<list<&routes::PolicyModel::mirrors, mirror_keys>>, "backends that get copies of the requests"},
    {"cors", policy<optional_section<&routes::PolicyModel::cors, cors_keys>>,
     "scripts of other sites may use this route; preflight requests are answered here"},
    {"hsts", policy<optional_section<&routes::PolicyModel::hsts, hsts_keys>>,
     "responses over TLS carry Strict-Transport-Security"},
    {"allow", policy<networks<&routes::PolicyModel::allow>>, "only clients from these networks; others get 403"},
    {"deny", policy<networks<&routes::PolicyModel::deny>>, "no clients from these networks, also if `allow` has them"},
    {"rate_limit", policy<optional_section<&routes::PolicyModel::rate_limit, rate_limit_keys>>,
     "how much one client may ask for"},
    {"body_bytes", policy<scalar<Optional<SizeFormat<std::uint64_t>>, &routes::PolicyModel::body_bytes>>,
     "largest request body, 0 for no limit; beyond it 413; the top level's if not given"},
    {"errors", policy<list<&routes::PolicyModel::errors, error_keys>>,
     "bodies of errors that the router itself answers with, before those of the top level"},
    {"forwarded",
     policy<scalar<Optional<ChoiceFormat<routes::ForwardedMode, forwarded_words>>, &routes::PolicyModel::forwarded>>,
     "as at the top level, for this route"},
    {"compression", policy<optional_section<&routes::PolicyModel::compression, compression_keys>>,
     "responses are compressed for clients that ask for it; off if not given"},
};

}  // namespace ebb::config
