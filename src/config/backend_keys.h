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

// An endpoint without a name is known by its address as it was written, so that its name does not change when the
// address behind a host name does.
inline constexpr Value<routes::EndpointModel> endpoint_address = {
    EndpointAddressFormat::type,
    [](Reader& reader, const Node& node, routes::EndpointModel& endpoint) {
      read_scalar<EndpointAddressFormat>(reader, node, endpoint.address);
      if (endpoint.name.empty()) endpoint.name = node.text;
    },
    [](const routes::EndpointModel&) { return std::string(); },
};

inline constexpr Key<routes::EndpointModel> endpoint_keys[] = {
    {"name", text<&routes::EndpointModel::name>, "unique in its backend; the address if not given"},
    {"address", endpoint_address, "`host:port`; a name is resolved when the file is read", Need::required},
    {"weight", count<&routes::EndpointModel::weight>, "share of the work, 0 to 256"},
    {"state", choice<&routes::EndpointModel::state, state_words>,
     "`leaving` is used only when no `ready` one is left; `drain` and `maint` get no new work"},
};

inline constexpr Key<routes::BackendModel> backend_timeouts_keys[] = {
    {"connect", duration<&routes::BackendModel::connect_timeout>,
     "until a connection is established, with TLS and HTTP/2 if no request waits for it"},
    {"handshake", duration<&routes::BackendModel::handshake_timeout>,
     "until TLS and HTTP/2 are established as well, while a request waits for that"},
    {"response", duration<&routes::BackendModel::response_timeout>, "until the response begins"},
    {"idle", duration<&routes::BackendModel::idle_timeout>, "how long a connection without work is kept"},
};

inline constexpr Key<routes::BackendModel> keepalive_keys[] = {
    {"idle_per_endpoint", count<&routes::BackendModel::idle_per_endpoint>,
     "connections without work that a worker keeps to one endpoint; as many as worked at a time in the last seconds if "
     "those are more; 0 keeps none"},
    {"idle_per_endpoint_max", count<&routes::BackendModel::idle_per_endpoint_max>,
     "never more than these, however many work at a time"},
};

inline constexpr Key<routes::BackendTlsModel> backend_tls_keys[] = {
    {"ca", file<&routes::BackendTlsModel::ca>,
     "PEM: the authorities that may have signed; those that this machine trusts if not given"},
    {"name", text<&routes::BackendTlsModel::name>,
     "the name that the certificate must be for; needed unless `verify` is `false`"},
    {"sni", text<&routes::BackendTlsModel::sni>, "the name that is asked for; `name` if not given"},
    {"cert", file<&routes::BackendTlsModel::certificate>, "PEM: our own certificate, for backends that ask for one"},
    {"key", file<&routes::BackendTlsModel::key>, "PEM: its private key"},
    {"verify", flag<&routes::BackendTlsModel::verify>, "`false` talks to anybody who answers: for tests only"},
};

inline constexpr Key<routes::BackendHttp2Model> backend_http2_keys[] = {
    {"streams", count<&routes::BackendHttp2Model::streams>,
     "most requests at a time on one connection, 1 to 10000; the endpoint's own limit if that is lower"},
    {"max_age", duration<&routes::BackendHttp2Model::max_age>, "after it a connection takes no new request"},
};

inline constexpr Key<routes::QueueModel> queue_keys[] = {
    {"limit", count<&routes::QueueModel::limit>, "most requests that wait in one worker; 0: none waits"},
    {"timeout", duration<&routes::QueueModel::timeout>, "how long a request waits before it gets 503"},
};

inline constexpr Key<routes::EndpointLimitsModel> endpoint_limits_keys[] = {
    {"requests", count<&routes::EndpointLimitsModel::requests>, "most requests and tunnels at a time; 0: no limit"},
    {"connections", count<&routes::EndpointLimitsModel::connections>,
     "most open connections, idle ones too; 0: no limit"},
};

inline constexpr Key<routes::BackendModel> drain_keys[] = {
    {"deadline", duration<&routes::BackendModel::drain_deadline>,
     "what an endpoint still has to do this long after it was to stop is cut"},
};

inline constexpr Key<routes::HealthModel> health_keys[] = {
    {"http", text<&routes::HealthModel::http>,
     "the path that is asked for (GET, in the backend's `protocol`); if not given, a connection is enough, and with "
     "`tls` its handshake"},
    {"host", text<&routes::HealthModel::host>,
     "the host that is asked for; `tls.name`, or the endpoint's address, if not given"},
    {"expect", values<AnswerStatusFormat, &routes::HealthModel::expect>,
     "answers that are good; `[2xx, 3xx]` if not given"},
    {"port", count<&routes::HealthModel::port>,
     "another port of the endpoint, asked without TLS, in HTTP/1.1; the endpoint's own if 0"},
    {"every", duration<&routes::HealthModel::every>, "from one check to the next, `100ms` to `1h`"},
    {"timeout", duration<&routes::HealthModel::timeout>, "of the whole check; at most `every`"},
    {"fall", count<&routes::HealthModel::fall>, "failures in a row after which it is down, 1 to 100"},
    {"rise", count<&routes::HealthModel::rise>, "successes in a row after which it is up again, 1 to 100"},
};

inline constexpr std::string_view switch_words[] = {"off", "on"};

inline constexpr Key<routes::SilenceModel> silence_keys[] = {
    {"after", duration<&routes::SilenceModel::after>,
     "a request that has waited for less is no evidence; `100ms` to `1h`"},
    {"trial", duration<&routes::SilenceModel::trial>,
     "the least time that an endpoint has to answer a trial; longer for kinds of requests that take longer; at most "
     "`10s`"},
};

inline constexpr Key<routes::FailuresModel> failures_keys[] = {
    {"in_a_row", count<&routes::FailuresModel::in_a_row>,
     "failures of one kind of request that eject an endpoint, if siblings fail less; 2 to 1000"},
};

inline constexpr Key<routes::RetransmissionModel> retransmission_keys[] = {
    {"timeouts", count<&routes::RetransmissionModel::timeouts>,
     "of TCP, without an acknowledgement; 2 to 8: each waits twice as long as the one before"},
};

inline constexpr Key<routes::EvidenceModel> evidence_keys[] = {
    {"silence", switched_section<&routes::EvidenceModel::silence, silence_keys>,
     "requests are not answered while siblings answer the same kind"},
    {"failures", switched_section<&routes::EvidenceModel::failures, failures_keys>,
     "answers of 5xx, and fresh connections that are broken off, in a row"},
    {"retransmission", switched_section<&routes::EvidenceModel::retransmission, retransmission_keys>,
     "bytes to the endpoint are not acknowledged"},
    {"connect", choice<&routes::EvidenceModel::connect, switch_words>, "connections cannot be established"},
};

inline constexpr Key<routes::StickyModel> sticky_keys[] = {
    {"cookie", text<&routes::StickyModel::cookie>, "its name; backends never see it", Need::required},
    {"drain", choice<&routes::StickyModel::drain, sticky_drain_words>,
     "clients of an endpoint that drains `move` as soon as another is ready, or it may `keep` them until its deadline "
     "is near"},
    {"secure", choice<&routes::StickyModel::secure, cookie_secure_words>,
     "whether it is for TLS only; `auto` is what the client's own connection is"},
    {"same_site", choice<&routes::StickyModel::same_site, cookie_same_site_words>,
     "whether requests that other sites cause carry it; `none` needs TLS"},
    {"max_age", timeout<&routes::StickyModel::max_age>, "how long a browser keeps it; until it ends if not given"},
};

inline constexpr Key<routes::BackendModel> backend_keys[] = {
    {"name", text<&routes::BackendModel::name>, "unique; routes name it", Need::required},
    {"balance", choice<&routes::BackendModel::balance, balance_words>, "how an endpoint is chosen; see balancing.md"},
    {"hash_header", text<&routes::BackendModel::hash_header>,
     "with `header_hash`: the field whose value says which endpoint"},
    {"sticky", optional_section<&routes::BackendModel::sticky, sticky_keys>,
     "a cookie binds each client to the endpoint that served it first"},
    {"slow_start", duration<&routes::BackendModel::slow_start>,
     "how long an endpoint that is new or well again takes to its full share; at most `1h`"},
    {"endpoints", list<&routes::BackendModel::endpoints, endpoint_keys>,
     "may be empty: requests then wait in the queue"},
    {"timeouts", group<routes::BackendModel, backend_timeouts_keys>, "of connections to its endpoints"},
    {"keepalive", group<routes::BackendModel, keepalive_keys>, "of connections without work"},
    {"retries", count<&routes::BackendModel::retries>,
     "how often a request that is safe to repeat is sent again, 0 to 10"},
    {"protocol", choice<&routes::BackendModel::protocol, backend_protocol_words>,
     "`h2c` is HTTP/2 without TLS, `h2` with it; `auto` is what the endpoint chooses by ALPN, HTTP/1.1 without TLS"},
    {"tls", optional_section<&routes::BackendModel::tls, backend_tls_keys>,
     "connections are encrypted; for routes with `tls: reencrypt`"},
    {"http2", section<&routes::BackendModel::http2, backend_http2_keys>, "of HTTP/2 connections"},
    {"proxy_protocol", choice<&routes::BackendModel::proxy_protocol, proxy_protocol_words>,
     "each connection begins with a PROXY header of this version, which says who the client is"},
    {"queue", section<&routes::BackendModel::queue, queue_keys>,
     "requests that no endpoint may take at the moment wait, routes in turn"},
    {"endpoint_limits", section<&routes::BackendModel::endpoint_limits, endpoint_limits_keys>,
     "what one worker gives to one endpoint at a time; more waits in the queue"},
    {"drain", group<routes::BackendModel, drain_keys>, "of endpoints that leave or are to take no new work"},
    {"health", optional_section<&routes::BackendModel::health, health_keys>,
     "endpoints are checked all the time; without it they are judged by their traffic alone. See health.md"},
    {"evidence", section<&routes::BackendModel::evidence, evidence_keys>,
     "what is concluded from traffic; each can be tuned or switched off. See health.md"},
};

}  // namespace ebb::config
