// The keys of route policies.
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
    {"set", by_name<&routes::HeaderEditsModel::set, read_field>, "fields that replace all of the same name"},
    {"add", by_name<&routes::HeaderEditsModel::add, read_field>, "fields to append"},
    {"remove", texts<&routes::HeaderEditsModel::remove>, "names of fields to remove"},
};

template <auto outer>
inline constexpr Value<ObjectOf<outer>> new_path = within<outer, optional_text<&routes::PathChangeModel::path>>;
template <auto outer>
inline constexpr Value<ObjectOf<outer>> new_prefix = within<outer, optional_text<&routes::PathChangeModel::prefix>>;

inline constexpr Key<routes::RedirectModel> redirect_keys[] = {
    {"status", count<&routes::RedirectModel::status>, "301, 302, 303, 307 or 308"},
    {"scheme", text<&routes::RedirectModel::scheme>, "`http` or `https`; default: the request's"},
    {"host", text<&routes::RedirectModel::host>, "default: the request's"},
    {"port", count<&routes::RedirectModel::port>,
     "0: the default port of a given `scheme`, else the listener's; the router does not write default ports"},
    {"path", new_path<&routes::RedirectModel::change>, "replaces the whole path; the query stays"},
    {"prefix", new_prefix<&routes::RedirectModel::change>, "replaces the prefix that the route matched"},
};

inline constexpr Key<routes::RewriteModel> rewrite_keys[] = {
    {"host", text<&routes::RewriteModel::host>, "the host that the backend sees"},
    {"path", new_path<&routes::RewriteModel::change>, "replaces the whole path; the query stays"},
    {"prefix", new_prefix<&routes::RewriteModel::change>, "replaces the prefix that the route matched"},
};

inline constexpr Key<routes::MirrorModel> mirror_keys[] = {
    {"backend", text<&routes::MirrorModel::backend>, "gets a copy of each request; the router discards its answer",
     Need::required},
    {"percent", count<&routes::MirrorModel::percent>, "percentage of requests to copy, 0 to 100"},
};

inline constexpr Key<routes::CorsModel> cors_keys[] = {
    {"origins", texts<&routes::CorsModel::origins>,
     "sites whose scripts may use the route: `https://shop.example.com`, `https://*.example.com`, or `*` for all",
     Need::required},
    {"methods", texts<&routes::CorsModel::methods>, "allowed methods besides GET, HEAD and POST; `*`: all"},
    {"headers", texts<&routes::CorsModel::headers>, "fields that scripts may send; `*`: all"},
    {"expose", texts<&routes::CorsModel::expose>, "fields of the response that scripts may read"},
    {"credentials", flag<&routes::CorsModel::credentials>, "allows cookies; not with the origin `*`"},
    {"max_age", duration<&routes::CorsModel::max_age>,
     "how long a browser may cache the answer to a preflight, at most `24h`"},
};

inline constexpr Key<routes::HstsModel> hsts_keys[] = {
    {"max_age", duration<&routes::HstsModel::max_age>, "how long browsers use only TLS for this host"},
    {"include_subdomains", flag<&routes::HstsModel::include_subdomains>, "includes all names below the host"},
    {"preload", flag<&routes::HstsModel::preload>, "allows the host on the preload lists of browsers"},
};

inline constexpr Key<routes::RateLimitModel> rate_limit_keys[] = {
    {"requests", count<&routes::RateLimitModel::requests>,
     "requests per second from one client address (IPv6: one /64) in each worker; more get 429", Need::required},
    {"burst", count<&routes::RateLimitModel::burst>, "number of requests at once; 0: as many as `requests`"},
};

inline constexpr Key<routes::RouteTimeouts> route_timeouts_keys[] = {
    {"request", timeout<&routes::RouteTimeouts::request>, "from the head of the request to the end of the response"},
    {"try", timeout<&routes::RouteTimeouts::attempt>, "the same for each try at one endpoint"},
    {"idle", timeout<&routes::RouteTimeouts::idle>,
     "longest pause inside a body; default: the top level's `client_body` and `backend_body`"},
    {"tunnel_idle", timeout<&routes::RouteTimeouts::tunnel_idle>,
     "time without a byte in either direction of an upgraded connection; default: the top level's"},
    {"tunnel_age", timeout<&routes::RouteTimeouts::tunnel_age>,
     "longest life of an upgraded connection, however busy it is"},
};

inline constexpr Key<routes::ErrorBodyModel> error_keys[] = {
    {"status", scalar<StatusFormat, &routes::ErrorBodyModel::statuses>,
     "status, or class, of the router's own answer; a status comes before its class", Need::required},
    {"body", optional_text<&routes::ErrorBodyModel::text>, "the text, instead of `file`"},
    {"file", scalar<TextFileFormat, &routes::ErrorBodyModel::file>, "a file with the text, at most 64 KiB"},
    {"type", text<&routes::ErrorBodyModel::content_type>, "Content-Type of the body"},
};

inline constexpr Key<routes::CompressionModel> compression_keys[] = {
    {"types", texts<&routes::CompressionModel::types>, "content types to compress; `text/*`: all text types"},
    {"min_bytes", size<&routes::CompressionModel::min_bytes>,
     "responses with a shorter known length stay uncompressed"},
    {"codings", values<ChoiceFormat<routes::Coding, coding_words>, &routes::CompressionModel::codings>,
     "the router uses the first coding that the client accepts"},
};

}  // namespace ebb::config
