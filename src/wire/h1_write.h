// Heads for the other side, written into one pooled block. Hop-by-hop fields stay behind; framing and connection
// fields are ours; nothing is written that our own parser would not accept.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/block.h"
#include "wire/h1_head.h"
#include "wire/tls.h"
#include "wire/written_request.h"

namespace ebb::wire {

// What becomes of Forwarded and X-Forwarded-*.
enum class ForwardingMode : std::uint8_t {
  append,   // X-Forwarded-For and Forwarded: ours behind what came; -Host, -Port and -Proto: ours, a client does not
            // choose them
  replace,  // ours alone
  if_none,  // what came passes unchanged; ours if nothing came
  never,    // what came passes unchanged
};

// A set of fields that the router knows.
using FieldSet = std::uint32_t;
constexpr FieldSet set_of(FieldId id) { return FieldSet{1} << static_cast<unsigned>(id); }

// What the router tells an endpoint about the client.
struct Forwarding {
  std::string_view client_host;  // address text without port; IPv6 without brackets
  std::string_view scheme;       // "http" or "https"
  std::uint16_t port = 0;        // of the listener
  std::string_view host = {};    // that the client asked for; "": the head's
  ForwardingMode mode = ForwardingMode::append;
  bool trusted = false;               // the client is a proxy of ours: what it says about host, port and scheme is kept
  FieldSet left_alone = 0;            // of ours: those that something else has decided about
  std::string_view via = {};          // our name in Via; "": the field is not written
  std::string_view via_version = {};  // "1.1": by which version of HTTP the request came
  const PeerCertificate* certificate = nullptr;  // that the client showed
};

// Upgrade requests keep `Connection: upgrade` and `Upgrade`. Chunked requests stay chunked. `Expect` is kept.
// Host is written first, from `authority`. TE is sent on as `TE: trailers` only. X-Client-Certificate-* are ours alone.
// Twins of names that the router knows stay behind, and X-Real-IP of clients that are no proxies of ours.
WrittenRequest write_request(base::BlockPool& pool, const RequestHead& head, const Forwarding& forwarding);

struct ResponsePlan {
  std::uint8_t client_minor = 1;  // what the client speaks
  bool keep_alive = true;         // what becomes of the client's connection after it
  bool chunked = false;           // body of unknown length to an HTTP/1.1 client
  std::string_view extra = {};    // further complete field lines, each with CRLF
};

// Also for 1xx and 101 (which keeps Connection: upgrade and Upgrade). Content-Length is passed on as it was when the
// framing was length, or when the response is to HEAD or a 304. `Connection: close` is written when !keep_alive, and
// `Connection: keep-alive` for an HTTP/1.0 client when keep_alive. A Date is not invented.
base::Slice write_response(base::BlockPool& pool, const ResponseHead& head, const ResponsePlan& plan);

std::string_view reason_phrase(int status);

// "1f40\r\n" into the buffer (at least 18 bytes); returns its length.
std::size_t write_chunk_size(char* buffer, std::uint64_t size);

}  // namespace ebb::wire
