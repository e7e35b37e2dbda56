// The faults of a probe, in the order in which a probe meets them. One list yields the enum, the names in metrics and
// the API, the explanations and the remedies, so that all of them agree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace ebb::canary {

// clang-format off
//  X(name, words, remedy)
#define EBB_CANARY_FAULTS(X)                                                                                           \
  X(none,               "the answer is right",                                                                         \
                        "nothing is to be done")                                                                       \
  X(unable,             "the prober itself could not ask",                                                             \
                        "look at the limits of descriptors and memory of the process that probes")                     \
  X(name_resolution,    "the name has no address",                                                                     \
                        "look the name up where the prober runs; check the record and the resolver")                   \
  X(connect_refused,    "nothing listens there",                                                                       \
                        "is the router running, and is this the address and port of its listener?")                    \
  X(connect_unreachable, "there is no way to that address",                                                            \
                        "check routes, network policies and whether the node is up")                                   \
  X(connect_timeout,    "the connection was not accepted in time",                                                     \
                        "packets are dropped on the way (firewall, dead node), or the listener's queue is full")       \
  X(tls_handshake,      "the TLS handshake failed or did not end in time",                                             \
                        "is it a TLS listener? does it serve this name, and the protocol asked for?")                  \
  X(certificate,        "the certificate cannot be trusted",                                                           \
                        "renew or replace the certificate, or give the authority that issued it")                      \
  X(write,              "the request could not be delivered",                                                          \
                        "nothing confirms it: is the node up, are packets dropped on the way, does the peer read?")    \
  X(first_byte_timeout, "no byte of an answer came in time",                                                           \
                        "look for a backend that hangs, or a router that waits for an endpoint")                       \
  X(reset,              "the connection was reset before the answer was complete",                                     \
                        "look in the router's log for the cause it gives: did the endpoint or a middlebox reset?")     \
  X(truncated,          "the connection ended before the answer was complete",                                         \
                        "look in the router's log for the cause: an endpoint that stops in mid-answer, a drain")       \
  X(malformed,          "the answer is not the protocol that was asked for",                                           \
                        "is it an HTTP listener? does it speak HTTP/2 or WebSocket on this route?")                    \
  X(status_1xx,         "an interim status took the place of the answer",                                              \
                        "the server switches protocols unasked")                                                       \
  X(status_2xx,         "a success, but not the one of a canary server",                                               \
                        "the route leads to something else")                                                           \
  X(status_3xx,         "redirected instead of answered",                                                              \
                        "the route redirects (to https?): probe where it leads, or change the route")                  \
  X(status_4xx,         "the request was refused",                                                                     \
                        "no route matches host and path (404), or a policy refuses the prober")                        \
  X(status_5xx,         "the router or the backend failed",                                                            \
                        "503: no endpoint; 502 and 504: the endpoint fails or hangs; the router's log has the cause")  \
  X(wrong_body,         "the answer is not the one to this request",                                                   \
                        "a cache answers, or the route leads to something that is no canary server")                   \
  X(wrong_port,         "the answer came from another port than the route says",                                       \
                        "the router has not taken the last change of the route: it is wedged")                         \
  X(wrong_backend,      "the answer came from a stranger",                                                             \
                        "the router sends to an endpoint that is not, or no longer, the canary's")                     \
  X(stale_generation,   "the router runs an old configuration",                                                        \
                        "the replica has not taken the newest snapshot: look in its log for what it refused")          \
  X(slow,               "the answer was not complete within the budget",                                               \
                        "compare the phases: connect and TLS point at the router, the first byte at the backend")
// clang-format on

enum class Fault : std::uint8_t {
#define X(name, words, remedy) name,
  EBB_CANARY_FAULTS(X)
#undef X
};

struct FaultFacts {
  std::string_view name;
  std::string_view words;
  std::string_view remedy;
};

inline constexpr FaultFacts fault_table[] = {
#define X(name, words, remedy) {#name, words, remedy},
    EBB_CANARY_FAULTS(X)
#undef X
};
inline constexpr std::size_t fault_count = std::size(fault_table);

constexpr const FaultFacts& facts(Fault fault) { return fault_table[static_cast<std::size_t>(fault)]; }
constexpr std::string_view name(Fault fault) { return facts(fault).name; }

// The fault for an unexpected status.
constexpr Fault fault_of_status(std::uint16_t status) {
  switch (status / 100) {
    case 1: return Fault::status_1xx;
    case 2: return Fault::status_2xx;
    case 3: return Fault::status_3xx;
    case 4: return Fault::status_4xx;
    default: return Fault::status_5xx;
  }
}

}  // namespace ebb::canary
