// Why a connection or exchange ended. One list yields the enum, the labels of metrics and logs, the words for people,
// the side at fault and the client's HTTP status, so that all of them agree.
#pragma once

#include <cstdint>
#include <string_view>

namespace ebb::base {

enum class Side : std::uint8_t { none, client, backend, self };

// clang-format off
//  X(name, fault, status, words)            status 0: no answer is possible or needed
#define EBB_CAUSES(X)                                                                                              \
  X(completed,                 none,      0, "completed normally")                                                 \
  X(close_requested,           none,      0, "a peer asked to close the connection after its exchange")            \
  X(client_closed,             client,    0, "the client closed its idle connection")                              \
  X(client_aborted,            client,    0, "the client left in the middle of an exchange")                       \
  X(client_reset,              client,    0, "the client reset its connection")                                    \
  X(client_dead,               client,    0, "the client stopped acknowledging, and the kernel gave up")           \
  X(client_idle_timeout,       none,      0, "the client's connection was idle for too long")                      \
  X(client_idle_budget,        none,      0, "too many idle client connections; this one was idle longest")        \
  X(client_head_timeout,       client,  408, "the request head did not arrive in time")                            \
  X(client_body_timeout,       client,  408, "the request body stopped arriving")                                  \
  X(client_write_timeout,      client,    0, "the client stopped reading the response")                            \
  X(client_bad_request,        client,  400, "the request is malformed or ambiguous")                              \
  X(client_uri_too_long,       client,  414, "the request target exceeds the limit")                               \
  X(client_head_too_large,     client,  431, "the request head exceeds the limit")                                 \
  X(client_body_too_large,     client,  413, "the request body exceeds the limit")                                 \
  X(client_version_refused,    client,  505, "the HTTP version is not supported")                                  \
  X(client_coding_refused,     client,  501, "the transfer coding is not implemented")                             \
  X(client_method_refused,     client,  405, "the method is not supported here")                                   \
  X(client_expectation_failed, client,  417, "the expectation cannot be met")                                      \
  X(client_address_refused,    client,  403, "the route does not serve this client address")                       \
  X(client_path_ambiguous,     client,  400, "the path can be read in more than one way")                          \
  X(client_too_many_hops,      client,  400, "the request names more trusted proxies than the limit allows")       \
  X(client_rate_limited,       client,  429, "the client address exceeds its request rate")                        \
  X(client_tls_failed,         client,    0, "the TLS handshake or a TLS record failed")                           \
  X(client_tls_timeout,        client,    0, "the TLS handshake did not end in time")                              \
  X(client_tls_name_refused,   client,    0, "no certificate serves the name that the client asked for")           \
  X(client_tls_untrusted,      client,    0, "the client's certificate is missing or not trusted")                 \
  X(client_bad_proxy_header,   client,    0, "the PROXY protocol header is missing or malformed")                  \
  X(client_misdirected,        client,  421, "this connection does not serve that authority")                      \
  X(client_protocol_error,     client,    0, "the client violated the HTTP/2 protocol")                            \
  X(client_flood,              client,    0, "the client sent too many control frames or resets")                  \
  X(client_cancelled,          client,    0, "the client cancelled the request")                                   \
  X(client_too_many,           client,    0, "the client has too many connections open")                           \
  X(route_not_found,           client,  404, "no route matches the host and path")                                 \
  X(backend_empty,             backend, 503, "the backend has no endpoint that may take the request")              \
  X(queue_full,                backend, 503, "too many requests already wait for an endpoint")                     \
  X(queue_timeout,             backend, 503, "no endpoint had room for the request in time")                       \
  X(backend_refused,           backend, 502, "the endpoint refused the connection")                                \
  X(backend_unreachable,       backend, 502, "the endpoint cannot be reached")                                     \
  X(backend_connect_timeout,   backend, 504, "the endpoint did not answer the connection attempt")                 \
  X(backend_reset,             backend, 502, "the endpoint reset the connection")                                  \
  X(backend_closed,            backend, 502, "the endpoint closed the connection without an answer")               \
  X(backend_dead,              backend, 504, "the endpoint stopped acknowledging, and the kernel gave up")         \
  X(backend_silent,            backend, 504, "the endpoint sent no response while others of its backend did")      \
  X(backend_failing,           backend, 502, "the endpoint failed several requests in a row")                      \
  X(backend_check_failed,      backend, 502, "the endpoint failed its health checks")                              \
  X(backend_bad_response,      backend, 502, "the response is malformed or ambiguous")                             \
  X(backend_truncated,         backend, 502, "the response ended before it was complete")                          \
  X(backend_response_timeout,  backend, 504, "the endpoint did not begin its response in time")                    \
  X(backend_body_timeout,      backend, 504, "the response body stopped arriving")                                 \
  X(backend_write_timeout,     backend, 504, "the endpoint stopped reading the request")                           \
  X(backend_protocol_error,    backend, 502, "the endpoint violated the HTTP/2 protocol")                          \
  X(backend_refused_stream,    backend, 503, "the endpoint did not process the request")                           \
  X(backend_stream_reset,      backend, 502, "the endpoint reset the stream")                                      \
  X(backend_no_upgrade,        backend, 502, "the endpoint does not support this kind of upgrade")                 \
  X(backend_ping_timeout,      backend, 504, "the endpoint did not answer a PING")                                 \
  X(backend_going_away,        none,      0, "the endpoint accepts no new requests on this connection")            \
  X(backend_tls_failed,        backend, 502, "the TLS handshake with the endpoint failed")                         \
  X(backend_tls_untrusted,     backend, 502, "the endpoint's certificate is not trusted")                          \
  X(backend_max_age,           none,      0, "the connection to the endpoint reached its maximum age")             \
  X(backend_changed,           none,      0, "the backend's TLS or protocol settings have changed")                \
  X(backend_idle_closed,       none,      0, "the endpoint closed its idle connection")                            \
  X(backend_idle_timeout,      none,      0, "the pooled connection was idle for too long")                        \
  X(backend_idle_budget,       none,      0, "the pool has too many idle connections")                             \
  X(endpoint_gone,             none,      0, "the endpoint was removed from the configuration")                    \
  X(endpoint_draining,         none,      0, "the endpoint is draining and takes no new work")                     \
  X(drain_deadline,            self,    503, "the work did not end before the endpoint's drain deadline")          \
  X(tunnel_closed,             none,      0, "the client or the endpoint closed the tunnel")                       \
  X(tunnel_idle_timeout,       none,      0, "the tunnel carried no bytes for too long")                           \
  X(tunnel_max_age,            none,      0, "the tunnel reached its maximum age")                                 \
  X(flow_idle_timeout,         none,      0, "the flow carried no datagrams for too long")                         \
  X(flow_budget,               self,      0, "too many flows; this one was unused longest")                        \
  X(request_timeout,           backend, 504, "the whole exchange took longer than its route allows")               \
  X(try_timeout,               backend, 504, "one try took longer than its route allows")                          \
  X(forwarding_loop,           self,    508, "the request has passed this router before")                          \
  X(listener_removed,          self,      0, "the listener was removed from the configuration")                    \
  X(connection_limit,          self,    503, "the router reached its connection limit")                            \
  X(buffer_limit,              self,      0, "the router's buffers were nearly full, and this client held the most")\
  X(resource_limit,            self,    503, "the router ran out of descriptors or buffers")                       \
  X(shutdown,                  self,    503, "the router is stopping")                                             \
  X(operator_ended,            self,    503, "an operator ended the connection or the request")                    \
  X(cancelled,                 self,      0, "the operation was cancelled")                                        \
  X(internal,                  self,    500, "an invariant of the router broke")
// clang-format on

// `none`: not ended yet. Logs and metrics never contain it.
enum class Cause : std::uint8_t {
#define X(name, fault, status, words) name,
  EBB_CAUSES(X)
#undef X
      none
};

struct CauseFacts {
  std::string_view name;
  Side fault;
  int status;
  std::string_view words;
};

inline constexpr CauseFacts cause_table[] = {
#define X(name, fault, status, words) {#name, Side::fault, status, words},
    EBB_CAUSES(X)
#undef X
};
inline constexpr CauseFacts no_cause{"none", Side::none, 0, "nothing has ended"};
inline constexpr std::size_t cause_count = static_cast<std::size_t>(Cause::none);

constexpr const CauseFacts& facts(Cause cause) {
  return cause == Cause::none ? no_cause : cause_table[static_cast<std::size_t>(cause)];
}
constexpr std::string_view name(Cause cause) { return facts(cause).name; }

constexpr std::string_view name(Side side) {
  switch (side) {
    case Side::none: return "none";
    case Side::client: return "client";
    case Side::backend: return "backend";
    case Side::self: return "self";
  }
  return "none";
}

}  // namespace ebb::base
