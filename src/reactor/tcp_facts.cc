#include "reactor/tcp_facts.h"

#include <linux/tcp.h>  // not <netinet/tcp.h>, whose tcp_info ends before the byte counters
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>

#include "reactor/sockets.h"

namespace ebb::reactor {

std::optional<TcpFacts> tcp_facts_of(int socket, Origin origin) {
  tcp_info info{};
  socklen_t size = sizeof(info);  // the kernel's may be longer (cut) or shorter (an old kernel)
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  if (size < offsetof(tcp_info, tcpi_bytes_acked) + sizeof(info.tcpi_bytes_acked)) return std::nullopt;
  // Of a connection that we opened, the kernel counts the SYN as a byte (tcp_rcv_synsent_state_process: tcp_ack). Were
  // it ever not to, one byte too few would be taken for delivered, and no request is acted on for its first byte.
  const std::uint64_t handshake = origin == Origin::accepted ? 0 : 1;
  const std::uint64_t acked = info.tcpi_bytes_acked;
  return TcpFacts{.acknowledged = acked - std::min(acked, handshake),
                  .unacknowledged = info.tcpi_unacked,
                  .timeouts = info.tcpi_retransmits,
                  .silence = std::chrono::milliseconds{info.tcpi_last_ack_recv},
                  .probes = info.tcpi_probes,
                  .timeout = std::chrono::microseconds{info.tcpi_rto}};
}

}  // namespace ebb::reactor
