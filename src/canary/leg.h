// A leg: one way through a router that is walked again and again. The door (which replica, which kind of route) times
// the protocol that is spoken to it.
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

// Without TLS at the front door, HTTP/2 is spoken with prior knowledge (RFC 9113 section 3.3).
constexpr bool secured(Kind kind) { return kind != Kind::plain; }
// Behind a passthrough nobody but the server can have written the answer: the router cannot say what it runs.
constexpr bool says_configuration(Kind kind) { return kind != Kind::passthrough; }

// A way into one replica.
struct Door {
  std::string replica;  // its name, for people and metrics
  Kind kind = Kind::plain;
  std::string host;  // where to connect: an address or a name, which is looked up for every connection
  std::uint16_t port = 0;
  std::string authority;  // what the request asks for, and the server name (SNI) without its port
  std::string path = "/";
  std::vector<Protocol> protocols = {Protocol::http1_fresh, Protocol::http1_reused, Protocol::h2, Protocol::websocket};
  // The router whose route follows the rotation, and whose generations are known. Of others, either port is right, and
  // the digest of their configuration has to become ours.
  bool own = true;
};

// What the certificate at the front door must prove.
struct Trust {
  bool verify = true;                // false: its facts are recorded, nothing more
  wire::PemSource authorities = {};  // none: the system's
};

// A leg, ready to be walked.
struct Leg {
  std::string replica;
  Kind kind = Kind::plain;
  Protocol protocol = Protocol::http1_fresh;
  std::string host;
  std::uint16_t port = 0;
  std::string authority;
  std::string path;
  bool own = true;
  std::shared_ptr<const wire::ClientContext> tls;  // null: plain

  // Two legs with the same name are the same leg and share their history.
  std::string name() const;  // "a/edge/h2"
};

// The error is a sentence that names the door and the remedy.
std::expected<std::vector<Leg>, std::string> lay_out(const std::vector<Door>& doors, const Trust& trust);

}  // namespace ebb::canary
