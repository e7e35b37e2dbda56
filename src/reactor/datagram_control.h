// Control data of a datagram: the local address that it came to or leaves from (a socket bound to 0.0.0.0 or :: has
// many), and the number of datagrams that the kernel dropped before it.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>

#include "base/address.h"

namespace ebb::reactor {

// Room for all that the kernel is asked to add.
struct DatagramControl {
  alignas(cmsghdr) char bytes[CMSG_SPACE(sizeof(in6_pktinfo)) + CMSG_SPACE(sizeof(std::uint32_t))];
};

// Asks the kernel for the above. False: it refused.
bool want_arrival(int socket, const base::Address& bound);

struct Arrival {
  base::Address local;        // invalid: not told
  std::uint32_t dropped = 0;  // in all, by this socket; 0 also where the kernel did not tell
};
Arrival read_arrival(const msghdr& message, std::uint16_t local_port);

// The address to leave from. `control` must outlive the call that sends the message.
void write_source(msghdr& message, DatagramControl& control, const base::Address& from);

}  // namespace ebb::reactor
