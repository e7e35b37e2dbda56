// The keys of backends.
#pragma once

#include "config/keys.h"
#include "routes/model.h"

namespace ebb::config {

// In the order of the enumerators.
inline constexpr std::string_view state_words[] = {"ready", "leaving", "drain", "maint"};
inline constexpr std::string_view balance_words[] = {"round_robin", "least_request", "random", "source_hash",
                                                     "header_hash"};
inline constexpr std::string_view sticky_drain_words[] = {"move", "keep"};
inline constexpr std::string_view cookie_secure_words[] = {"auto", "always", "never"};
inline constexpr std::string_view cookie_same_site_words[] = {"lax", "strict", "none"};
inline constexpr std::string_view backend_protocol_words[] = {"http1", "h2c", "h2", "auto"};
inline constexpr std::string_view proxy_protocol_words[] = {"off", "v1", "v2"};

// The written address names an endpoint without a name: the name stays the same when DNS gives another address.
inline constexpr Value<routes::EndpointModel> endpoint_address = {
    EndpointAddressFormat::type,
    [](Reader& reader, const Node& node, routes::EndpointModel& endpoint) {
      read_scalar<EndpointAddressFormat>(reader, node, endpoint.address);
      if (endpoint.name.empty()) endpoint.name = node.text;
    },
    [](const routes::EndpointModel&) { return std::string(); },
};

inline constexpr Key<routes::EndpointModel> endpoint_keys[] = {
    {"name", text<&routes::EndpointModel::name>, "unique in its backend; default: the address"},
    {"address", endpoint_address, "`host:port`; the router resolves a name when it reads the file", Need::required},
    {"weight", count<&routes::EndpointModel::weight>, "share of the requests, 0 to 256"},
    {"state", choice<&routes::EndpointModel::state, state_words>,
     "`leaving`: new work only when no `ready` endpoint is left; `drain` and `maint`: no new work"},
};

inline constexpr Key<routes::BackendModel> backend_timeouts_keys[] = {
    {"connect", duration<&routes::BackendModel::connect_timeout>,
     "until a connection is established, including TLS and HTTP/2 if no request waits for it"},
    {"handshake", duration<&routes::BackendModel::handshake_timeout>,
     "until TLS and HTTP/2 are established too, while a request waits for the connection"},
    {"response", duration<&routes::BackendModel::response_timeout>, "until the response begins"},
    {"idle", duration<&routes::BackendModel::idle_timeout>, "how long the pool keeps an idle connection"},
};

inline constexpr Key<routes::BackendModel> keepalive_keys[] = {
    {"idle_per_endpoint", count<&routes::BackendModel::idle_per_endpoint>,
     "idle connections per endpoint and worker; more if more were in use at a time in the last seconds; 0: none"},
    {"idle_per_endpoint_max", count<&routes::BackendModel::idle_per_endpoint_max>,
     "upper limit for that, however many were in use"},
};

inline constexpr Key<routes::BackendTlsModel> backend_tls_keys[] = {
    {"ca", file<&routes::BackendTlsModel::ca>, "PEM: trusted authorities; default: those of this machine"},
    {"name", text<&routes::BackendTlsModel::name>,
     "name that the endpoint's certificate must have; required unless `verify` is `false`"},
    {"sni", text<&routes::BackendTlsModel::sni>, "server name that Ebbgate sends (SNI); default: `name`"},
    {"cert", file<&routes::BackendTlsModel::certificate>,
     "PEM: Ebbgate's own certificate, for endpoints that ask for one"},
    {"key", file<&routes::BackendTlsModel::key>, "PEM: the private key of `cert`"},
    {"verify", flag<&routes::BackendTlsModel::verify>, "`false`: no authentication of the endpoint, for tests only"},
};

inline constexpr Key<routes::BackendHttp2Model> backend_http2_keys[] = {
    {"streams", count<&routes::BackendHttp2Model::streams>,
     "concurrent requests per connection, 1 to 10000; the endpoint's own limit if that is lower"},
    {"max_age", duration<&routes::BackendHttp2Model::max_age>, "age after which a connection takes no new request"},
};

inline constexpr Key<routes::QueueModel> queue_keys[] = {
    {"limit", count<&routes::QueueModel::limit>, "number of waiting requests per worker; 0: no queue"},
    {"timeout", duration<&routes::QueueModel::timeout>, "how long a request waits before it gets 503"},
};

inline constexpr Key<routes::EndpointLimitsModel> endpoint_limits_keys[] = {
    {"requests", count<&routes::EndpointLimitsModel::requests>, "concurrent requests and tunnels; 0: no limit"},
    {"connections", count<&routes::EndpointLimitsModel::connections>,
     "open connections, idle ones included; 0: no limit"},
};

inline constexpr Key<routes::BackendModel> drain_keys[] = {
    {"deadline", duration<&routes::BackendModel::drain_deadline>,
     "time for work under way at a draining endpoint; the router then cuts it"},
};

inline constexpr Key<routes::HealthModel> health_keys[] = {
    {"http", text<&routes::HealthModel::http>,
     "path of the check (GET, in the backend's `protocol`); default: no request, a connection suffices, with `tls` "
     "its handshake"},
    {"host", text<&routes::HealthModel::host>,
     "host of the check's request; default: `tls.name`, or the endpoint's address"},
    {"expect", values<AnswerStatusFormat, &routes::HealthModel::expect>,
     "statuses of a passed check; default: `[2xx, 3xx]`"},
    {"port", count<&routes::HealthModel::port>,
     "another port of the endpoint, checked in HTTP/1.1 without TLS; 0: the endpoint's own port"},
    {"every", duration<&routes::HealthModel::every>, "interval between checks, `100ms` to `1h`"},
    {"timeout", duration<&routes::HealthModel::timeout>, "limit of the whole check; at most `every`"},
    {"fall", count<&routes::HealthModel::fall>, "failed checks in a row until the endpoint is down, 1 to 100"},
    {"rise", count<&routes::HealthModel::rise>, "passed checks in a row until the endpoint is up again, 1 to 100"},
};

inline constexpr std::string_view switch_words[] = {"off", "on"};

inline constexpr Key<routes::SilenceModel> silence_keys[] = {
    {"after", duration<&routes::SilenceModel::after>,
     "shortest wait of a request that counts as evidence, `100ms` to `1h`"},
    {"trial", duration<&routes::SilenceModel::trial>,
     "shortest time to answer a trial, at most `10s`; longer for kinds of requests that usually take longer"},
};

inline constexpr Key<routes::FailuresModel> failures_keys[] = {
    {"in_a_row", count<&routes::FailuresModel::in_a_row>,
     "number of failures of one kind of request, 2 to 1000, that eject an endpoint whose siblings fail less"},
};

inline constexpr Key<routes::RetransmissionModel> retransmission_keys[] = {
    {"timeouts", count<&routes::RetransmissionModel::timeouts>,
     "number of TCP retransmission time-outs without an acknowledgement, 2 to 8; each takes twice as long as the "
     "previous one"},
};

inline constexpr Key<routes::EvidenceModel> evidence_keys[] = {
    {"silence", switched_section<&routes::EvidenceModel::silence, silence_keys>,
     "requests without an answer while siblings answer the same kind"},
    {"failures", switched_section<&routes::EvidenceModel::failures, failures_keys>,
     "5xx answers and fresh connections that break, in a row"},
    {"retransmission", switched_section<&routes::EvidenceModel::retransmission, retransmission_keys>,
     "bytes that the endpoint does not acknowledge"},
    {"connect", choice<&routes::EvidenceModel::connect, switch_words>, "connections that cannot be established"},
};

inline constexpr Key<routes::StickyModel> sticky_keys[] = {
    {"cookie", text<&routes::StickyModel::cookie>, "name of the cookie; endpoints never see it", Need::required},
    {"drain", choice<&routes::StickyModel::drain, sticky_drain_words>,
     "clients of a draining endpoint `move` as soon as another is ready, or the endpoint may `keep` them until "
     "shortly before its drain deadline"},
    {"secure", choice<&routes::StickyModel::secure, cookie_secure_words>,
     "attribute `Secure`; `auto`: if the client's own connection uses TLS"},
    {"same_site", choice<&routes::StickyModel::same_site, cookie_same_site_words>,
     "attribute `SameSite`: whether requests from other sites carry the cookie; `none` needs TLS"},
    {"max_age", timeout<&routes::StickyModel::max_age>,
     "how long a browser keeps the cookie; default: until the browser ends"},
};

inline constexpr Key<routes::BackendModel> backend_keys[] = {
    {"name", text<&routes::BackendModel::name>, "unique; routes name it", Need::required},
    {"balance", choice<&routes::BackendModel::balance, balance_words>,
     "choice of the endpoint; see [balancing](balancing.md)"},
    {"hash_header", text<&routes::BackendModel::hash_header>, "with `header_hash`: the field whose value is hashed"},
    {"sticky", optional_section<&routes::BackendModel::sticky, sticky_keys>,
     "a cookie binds each client to the endpoint that served it first"},
    {"slow_start", duration<&routes::BackendModel::slow_start>,
     "time in which a new or recovered endpoint grows to its full share; at most `1h`"},
    {"endpoints", list<&routes::BackendModel::endpoints, endpoint_keys>,
     "the servers; without any, requests wait in the queue"},
    {"timeouts", group<routes::BackendModel, backend_timeouts_keys>, "time-outs of connections to endpoints"},
    {"keepalive", group<routes::BackendModel, keepalive_keys>, "connection pool"},
    {"retries", count<&routes::BackendModel::retries>,
     "number of retries of a request that is safe to repeat, 0 to 10"},
    {"protocol", choice<&routes::BackendModel::protocol, backend_protocol_words>,
     "`h2c`: HTTP/2 without TLS; `h2`: HTTP/2 with TLS; `auto`: by ALPN, without TLS HTTP/1.1"},
    {"tls", optional_section<&routes::BackendModel::tls, backend_tls_keys>,
     "encrypts connections to endpoints; for routes with `tls: reencrypt`"},
    {"http2", section<&routes::BackendModel::http2, backend_http2_keys>, "HTTP/2 connections to endpoints"},
    {"proxy_protocol", choice<&routes::BackendModel::proxy_protocol, proxy_protocol_words>,
     "begins each connection with a PROXY header of this version; see [PROXY protocol](proxy-protocol.md)"},
    {"queue", section<&routes::BackendModel::queue, queue_keys>,
     "queue for requests while no endpoint can take them; routes take turns"},
    {"endpoint_limits", section<&routes::BackendModel::endpoint_limits, endpoint_limits_keys>,
     "limits per endpoint and worker; more requests wait in the queue"},
    {"drain", group<routes::BackendModel, drain_keys>, "draining endpoints; see [draining](draining.md)"},
    {"health", optional_section<&routes::BackendModel::health, health_keys>,
     "[active health checks](health.md#active-checks); default: none, Ebbgate judges endpoints by their traffic alone"},
    {"evidence", section<&routes::BackendModel::evidence, evidence_keys>,
     "[inferences from traffic](health.md#inferences); each can be tuned or switched off"},
};

}  // namespace ebb::config
