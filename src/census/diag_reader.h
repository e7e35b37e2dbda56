// One message of NETLINK_SOCK_DIAG as a Socket. Pure; diag_dump.h asks the kernel.
#pragma once

#include <optional>

#include "census/netlink_reader.h"
#include "census/socket.h"

namespace ebb::census {

// None if it is not what the kernel sends: too short, of no known state or family, or attributes that do not fit.
std::optional<Socket> read_diag_message(Bytes body);

// struct tcp_info by its length: the kernel's may be longer or shorter than that of our headers.
void read_tcp_info(Bytes bytes, Socket& into);

}  // namespace ebb::census
