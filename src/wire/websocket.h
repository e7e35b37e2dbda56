// The two texts of a WebSocket handshake (RFC 6455 section 1.3) that the router may have to create: when the handshake
// is an upgrade on one side and an extended CONNECT (RFC 8441) on the other.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace ebb::wire {

// Sec-WebSocket-Key: 16 bytes in base64. The caller provides random numbers; the key defeats caches and is no secret.
std::array<char, 24> websocket_key(std::uint64_t high, std::uint64_t low);
// Sec-WebSocket-Accept for a key.
std::array<char, 28> websocket_accept(std::string_view key);

}  // namespace ebb::wire
