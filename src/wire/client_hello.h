// Reads the first message of a TLS connection without taking part in it. Passthrough routes by its server name and
// forwards the bytes unchanged. A pure function over the bytes from the first on. A second call with more bytes gives
// the same answer as a single call with all, so the caller keeps only the bytes.
//
// Before: the reactor. Next: wire/tls, or the backend that gets these bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/block.h"
#include "wire/h1_head.h"

namespace ebb::wire {

// RFC 8446 section 6: alerts for a connection that is refused before it has a TlsSession.
enum class Alert : std::uint8_t {
  none = 0,  // close_notify in the protocol: never sent as a fatal alert
  handshake_failure = 40,
  decode_error = 50,
  protocol_version = 70,
  unrecognized_name = 112,
};

struct ClientHello {
  std::string server_name;    // lower case, a valid host name; "" if missing
  std::string alpn_list;      // wire format: each name preceded by its length byte; "" if missing
  Alert alert = Alert::none;  // to send when refused; none if the peer does not speak TLS

  bool offers(std::string_view protocol) const;
};

// The message itself. OpenSSL sends about 500 bytes, browsers with post-quantum keys about 1,800; session tickets and
// padding may add to that.
inline constexpr std::size_t client_hello_message_max = 16384;
// The message with its record headers: 16 KiB in up to 64 records, or 2,700 bytes in one-byte records. Fits one large
// block.
inline constexpr std::size_t client_hello_bytes_max = client_hello_message_max + std::size_t{64} * 5;
static_assert(client_hello_bytes_max <= base::BlockPool::large_size);

// `bytes` begins at the first byte of the connection. Complete: `consumed` is the end of the record that ends the
// message. Refused: the cause is client_tls_failed.
Parsed parse_client_hello(std::string_view bytes, ClientHello& out);

// A record with a fatal alert, for a connection whose ClientHello was refused.
std::array<char, 7> fatal_alert(Alert alert);

}  // namespace ebb::wire
