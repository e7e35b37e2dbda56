// Heads for the other side, written into one pooled block. Hop-by-hop fields are dropped; the router writes framing and
// connection fields. Our own parser would accept every written head.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/block.h"
#include "wire/h1_head.h"
#include "wire/tls.h"
#include "wire/written_request.h"

namespace ebb::wire {

// What happens to Forwarded and X-Forwarded-*.
enum class ForwardingMode : std::uint8_t {
  append,   // X-Forwarded-For and Forwarded: ours behind what came; -Host, -Port and -Proto: ours, a client does not
            // choose them
  replace,  // only ours
  if_none,  // the client's unchanged, or ours if there is none
  never,    // the client's unchanged
};

// A set of fields that the router knows.
using FieldSet = std::uint32_t;
constexpr FieldSet set_of(FieldId id) { return FieldSet{1} << static_cast<unsigned>(id); }

// Facts about the client for the endpoint.
struct Forwarding {
  std::string_view client_host;  // address text without port; IPv6 without brackets
  std::string_view scheme;       // "http" or "https"
  std::uint16_t port = 0;        // of the listener
  std::string_view host = {};    // as the client requested it; "": the head's
  ForwardingMode mode = ForwardingMode::append;
  bool trusted = false;                          // the client is a trusted proxy: keep its host, port and scheme
  FieldSet left_alone = 0;                       // fields of ours that another rule decides
  std::string_view via = {};                     // the router's name in Via; "": no Via field
  std::string_view via_version = {};             // "1.1": the request's version of HTTP
  const PeerCertificate* certificate = nullptr;  // the client's
};

// Upgrade requests keep `Connection: upgrade` and `Upgrade`. Chunked requests stay chunked. `Expect` is kept. Host is
// written first, from `authority`. TE is forwarded only as `TE: trailers`. Only the router writes
// X-Client-Certificate-*. Twins of known names are dropped, and X-Real-IP from clients that are not trusted proxies.
WrittenRequest write_request(base::BlockPool& pool, const RequestHead& head, const Forwarding& forwarding);

struct ResponsePlan {
  std::uint8_t client_minor = 1;  // the client's version
  bool keep_alive = true;         // whether the client's connection stays open
  bool chunked = false;           // body of unknown length to an HTTP/1.1 client
  std::string_view extra = {};    // further complete field lines, each with CRLF
};

// Also for 1xx and 101 (which keeps Connection: upgrade and Upgrade). Content-Length passes unchanged if the framing
// was length, or if the response is to HEAD or a 304. `Connection: close` is written if !keep_alive, and `Connection:
// keep-alive` for an HTTP/1.0 client if keep_alive. A missing Date stays missing.
base::Slice write_response(base::BlockPool& pool, const ResponseHead& head, const ResponsePlan& plan);

std::string_view reason_phrase(int status);

// Writes "1f40\r\n" into the buffer (at least 18 bytes); returns its length.
std::size_t write_chunk_size(char* buffer, std::uint64_t size);

}  // namespace ebb::wire
