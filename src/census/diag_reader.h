// One message of NETLINK_SOCK_DIAG as a Socket. Pure; diag_dump.h queries the kernel.
#pragma once

#include <optional>

#include "census/netlink_reader.h"
#include "census/socket.h"

namespace ebb::census {

// Empty if the message is invalid: too short, unknown state or family, or inconsistent attributes.
std::optional<Socket> read_diag_message(Bytes body);

// Reads struct tcp_info by its length: the kernel's may be longer or shorter than our headers'.
void read_tcp_info(Bytes bytes, Socket& into);

}  // namespace ebb::census
