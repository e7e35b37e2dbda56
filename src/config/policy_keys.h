// The keys of what routes do besides sending.
#pragma once

#include "config/keys.h"
#include "routes/policy_model.h"

namespace ebb::config {

// In the order of the enumerators.
inline constexpr std::string_view forwarded_words[] = {"append", "replace", "if_none", "never"};
inline constexpr std::string_view path_words[] = {"normalise", "refuse", "as_is"};
inline constexpr std::string_view coding_words[] = {"gzip", "brotli", "zstd"};

inline void read_field(Reader& reader, const Node& node, routes::FieldModel& field) {
  read_scalar<TextFormat>(reader, node, field.value);
}

inline constexpr Key<routes::HeaderEditsModel> header_edits_keys[] = {
    {"set", by_name<&routes::HeaderEditsModel::set, read_field>, "fields that replace those of the same name"},
    {"add", by_name<&routes::HeaderEditsModel::add, read_field>, "fields that are appended"},
    {"remove", texts<&routes::HeaderEditsModel::remove>, "names of fields that are left out"},
};

template <auto outer>
inline constexpr Value<ObjectOf<outer>> new_path = within<outer, optional_text<&routes::PathChangeModel::path>>;
template <auto outer>
inline constexpr Value<ObjectOf<outer>> new_prefix = within<outer, optional_text<&routes::PathChangeModel::prefix>>;

inline constexpr Key<routes::RedirectModel> redirect_keys[] = {
    {"status", count<&routes::RedirectModel::status>, "301, 302, 303, 307 or 308"},
    {"scheme", text<&routes::RedirectModel::scheme>, "`http` or `https`; the request's if not given"},
    {"host", text<&routes::RedirectModel::host>, "the request's if not given"},
    {"port", count<&routes::RedirectModel::port>,
     "0 is the usual port of a given `scheme`, else the listener's; a usual port is not written"},
    {"path", new_path<&routes::RedirectModel::change>, "instead of the whole path; the query stays"},
    {"prefix", new_prefix<&routes::RedirectModel::change>, "instead of the prefix that the route matched"},
};

inline constexpr Key<routes::RewriteModel> rewrite_keys[] = {
    {"host", text<&routes::RewriteModel::host>, "the host that the backend sees"},
    {"path", new_path<&routes::RewriteModel::change>, "instead of the whole path; the query stays"},
    {"prefix", new_prefix<&routes::RewriteModel::change>, "instead of the prefix that the route matched"},
};

inline constexpr Key<routes::MirrorModel> mirror_keys[] = {
    {"backend", text<&routes::MirrorModel::backend>, "gets a copy; its answer is thrown away", Need::required},
    {"percent", count<&routes::MirrorModel::percent>, "of the requests, 0 to 100"},
};

inline constexpr Key<routes::CorsModel> cors_keys[] = {
    {"origins", texts<&routes::CorsModel::origins>,
     "sites whose scripts may ask: `https://shop.example.com`, `https://*.example.com`, or `*` for every one",
     Need::required},
    {"methods", texts<&routes::CorsModel::methods>, "besides GET, HEAD and POST; `*` for every one"},
    {"headers", texts<&routes::CorsModel::headers>, "fields that scripts may send; `*` for every one"},
    {"expose", texts<&routes::CorsModel::expose>, "fields of the response that scripts may read"},
    {"credentials", flag<&routes::CorsModel::credentials>, "whether cookies come along; not with the origin `*`"},
    {"max_age", duration<&routes::CorsModel::max_age>, "how long a browser may remember the answer, at most `24h`"},
};

inline constexpr Key<routes::HstsModel> hsts_keys[] = {
    {"max_age", duration<&routes::HstsModel::max_age>, "how long browsers use nothing but TLS for this host"},
    {"include_subdomains", flag<&routes::HstsModel::include_subdomains>, "also for all names below it"},
    {"preload", flag<&routes::HstsModel::preload>, "the host may go on the list that browsers are shipped with"},
};

inline constexpr Key<routes::RateLimitModel> rate_limit_keys[] = {
    {"requests", count<&routes::RateLimitModel::requests>,
     "per second from one client address (IPv6: one /64), counted by each worker; beyond it 429", Need::required},
    {"burst", count<&routes::RateLimitModel::burst>, "how many may come at once; 0 is as many as `requests`"},
};

inline constexpr Key<routes::RouteTimeouts> route_timeouts_keys[] = {
    {"request", timeout<&routes::RouteTimeouts::request>, "from the head of the request to the end of the response"},
    {"try", timeout<&routes::RouteTimeouts::attempt>, "the same for one try at one endpoint"},
    {"idle", timeout<&routes::RouteTimeouts::idle>,
     "between two pieces of a body; the top level's `client_body` and `backend_body` if not given"},
    {"tunnel_idle", timeout<&routes::RouteTimeouts::tunnel_idle>,
     "without a byte either way in an upgraded connection; the top level's if not given"},
    {"tunnel_age", timeout<&routes::RouteTimeouts::tunnel_age>, "of an upgraded connection, however busy it is"},
};

inline constexpr Key<routes::ErrorBodyModel> error_keys[] = {
    {"status", scalar<StatusFormat, &routes::ErrorBodyModel::statuses>,
     "of an error that the router itself answers with; a status comes before its class", Need::required},
    {"body", optional_text<&routes::ErrorBodyModel::text>, "the text, or"},
    {"file", scalar<TextFileFormat, &routes::ErrorBodyModel::file>, "a file with it, at most 64 KiB"},
    {"type", text<&routes::ErrorBodyModel::content_type>, "its Content-Type"},
};

inline constexpr Key<routes::CompressionModel> compression_keys[] = {
    {"types", texts<&routes::CompressionModel::types>, "types of content that are worth it; `text/*` is all of them"},
    {"min_bytes", size<&routes::CompressionModel::min_bytes>,
     "responses that are known to be shorter stay as they are"},
    {"codings", values<ChoiceFormat<routes::Coding, coding_words>, &routes::CompressionModel::codings>,
     "the first that the client accepts is taken"},
};

}  // namespace ebb::config
