// The PROXY protocol of HAProxy's doc/proxy-protocol.txt, versions 1 and 2. The previous hop, or Ebbgate itself, names
// the client before the first byte of the connection. The listener decides which peers to trust; this file only reads,
// and strictly: a lenient reader would accept forged addresses.
//
// Before: the reactor. Next: wire/client_hello, wire/tls, wire/h1_head.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/address.h"
#include "base/block.h"
#include "wire/h1_head.h"

namespace ebb::wire {

enum class ProxyVersion : std::uint8_t { v1, v2 };

struct ProxyHeader {
  // Both valid, or neither: a connection of the proxy itself (LOCAL, health checks), or unknown or non-IP addresses
  // (UNKNOWN, AF_UNSPEC, AF_UNIX). Without them, use the connection's own addresses.
  base::Address source;
  base::Address destination;
  bool datagram = false;  // version 2 only: UDP, not TCP

  bool has_addresses() const { return source.valid(); }
};

// Addresses with all TLVs. The specification lets senders rely on 536 bytes; known senders stay far below this limit.
inline constexpr std::size_t proxy_header_bytes_max = std::size_t{16} + 4096;

// `bytes` begins at the first byte of the connection. A second call with more bytes gives the same answer as one call
// with all. Accepts both versions. Complete: `consumed` bytes are the header. Refused: client_bad_proxy_header.
Parsed parse_proxy_header(std::string_view bytes, ProxyHeader& out);

// Without addresses: `PROXY UNKNOWN` in version 1, LOCAL in version 2. An IPv4 address beside an IPv6 address becomes
// IPv4-mapped. Version 1 does not support datagrams.
base::Slice write_proxy_header(base::BlockPool& pool, ProxyVersion version, const ProxyHeader& header);

}  // namespace ebb::wire
