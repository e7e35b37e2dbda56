// The PROXY protocol of HAProxy's doc/proxy-protocol.txt, versions 1 and 2. The hop before us, or Ebbgate itself, names
// the client ahead of the first byte of the connection. The listener decides which peers to trust; this file only
// reads, and strictly: a lenient reader would accept forged addresses.
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
  // Both valid, or neither: a connection of the proxy's own (LOCAL, health checks), or one whose addresses it does not
  // know or that are not IP (UNKNOWN, AF_UNSPEC, AF_UNIX). Then the addresses of the connection itself count.
  base::Address source;
  base::Address destination;
  bool datagram = false;  // version 2 only: UDP, not TCP

  bool has_addresses() const { return source.valid(); }
};

// Addresses with all TLVs; the specification lets senders count on 536 and no known one comes near this.
inline constexpr std::size_t proxy_header_bytes_max = std::size_t{16} + 4096;

// `bytes` begins at the first byte of the connection; calling again with more bytes gives the same answer as calling
// once with all. Either version is taken. Complete: `consumed` bytes are the header. Refused: client_bad_proxy_header.
Parsed parse_proxy_header(std::string_view bytes, ProxyHeader& out);

// Without addresses: `PROXY UNKNOWN` in version 1, LOCAL in version 2. An IPv4 address beside an IPv6 one is written as
// IPv4-mapped. Version 1 knows no datagrams.
base::Slice write_proxy_header(base::BlockPool& pool, ProxyVersion version, const ProxyHeader& header);

}  // namespace ebb::wire
