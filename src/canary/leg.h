// A leg: one path through a router that is probed repeatedly. It combines a door (which replica, which kind of route)
// with a protocol.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "canary/fields.h"
#include "wire/tls.h"

namespace ebb::canary {

#define EBB_CANARY_KINDS(X) X(plain) X(edge) X(reencrypt) X(passthrough)
#define EBB_CANARY_PROTOCOLS(X)                                                           \
  X(http1_fresh)                                                                          \
  /* a connection per request */ X(http1_reused) /* one connection as long as it lasts */ \
  X(h2) X(websocket)                             /* both on a connection of their own each time */

enum class Kind : std::uint8_t {
#define X(name) name,
  EBB_CANARY_KINDS(X)
#undef X
};
enum class Protocol : std::uint8_t {
#define X(name) name,
  EBB_CANARY_PROTOCOLS(X)
#undef X
};
inline constexpr std::string_view kind_names[] = {
#define X(name) #name,
    EBB_CANARY_KINDS(X)
#undef X
};
inline constexpr std::string_view protocol_names[] = {
#define X(name) #name,
    EBB_CANARY_PROTOCOLS(X)
#undef X
};
constexpr std::string_view name(Kind kind) { return kind_names[static_cast<std::size_t>(kind)]; }
constexpr std::string_view name(Protocol protocol) { return protocol_names[static_cast<std::size_t>(protocol)]; }

// Without TLS at the front door, HTTP/2 uses prior knowledge (RFC 9113 section 3.3).
constexpr bool secured(Kind kind) { return kind != Kind::plain; }
// On a passthrough leg only the server can have written the answer, so the router cannot add its configuration.
constexpr bool says_configuration(Kind kind) { return kind != Kind::passthrough; }

// An entrance to one replica.
struct Door {
  std::string replica;  // for display and metrics
  Kind kind = Kind::plain;
  std::string host;  // an address, or a name to resolve for every connection
  std::uint16_t port = 0;
  std::string authority;  // of the request; without the port, also the server name (SNI)
  std::string path = "/";
  std::vector<Protocol> protocols = {Protocol::http1_fresh, Protocol::http1_reused, Protocol::h2, Protocol::websocket};
  // This router: its route follows the rotation, and its generations are known. For other replicas either port is
  // right, and the digest of their configuration must become ours.
  bool own = true;
};

// What the front door's certificate must prove.
struct Trust {
  bool verify = true;                // false: its facts are only recorded
  wire::PemSource authorities = {};  // empty: the system's
};

// A leg that is ready for probes.
struct Leg {
  std::string replica;
  Kind kind = Kind::plain;
  Protocol protocol = Protocol::http1_fresh;
  std::string host;
  std::uint16_t port = 0;
  std::string authority;
  std::string path;
  bool own = true;
  std::shared_ptr<const wire::ClientContext> tls;  // null: no TLS

  // Legs with the same name are the same leg and share their history.
  std::string name() const;  // "a/edge/h2"
};

// The error is a sentence that names the door and the remedy.
std::expected<std::vector<Leg>, std::string> lay_out(const std::vector<Door>& doors, const Trust& trust);

}  // namespace ebb::canary
