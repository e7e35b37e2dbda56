// Requests TCP sockets from the kernel: all of a namespace, or one by its identity. diag_reader.h reads the answers.
#pragma once

#include <linux/inet_diag.h>

#include <cstdint>
#include <expected>
#include <vector>

#include "census/netlink_socket.h"
#include "census/socket.h"

namespace ebb::census {

constexpr std::uint32_t bit(State state) { return 1U << static_cast<std::uint32_t>(state); }
inline constexpr std::uint32_t all_states = (1U << state_names.size()) - 2;

struct DiagAsked {
  std::uint32_t states = all_states;
  std::size_t sockets_max = 2'000'000;  // in `into`
};
struct DiagMissed {
  std::size_t unreadable = 0;
  std::size_t left_out = 0;  // skipped beyond the limit
};

// Both families. Appends. The error is errno; sockets read before it stay.
std::expected<void, int> dump_sockets(NetlinkSocket& diag, const DiagAsked& asked, std::vector<Socket>& into,
                                      DiagMissed& missed);

// The current facts of exactly this socket, by its ends and cookie. ENOENT: it is gone.
std::expected<Socket, int> find_socket(NetlinkSocket& diag, const Socket& known);

// The identity of exactly one socket for the kernel.
inet_diag_req_v2 diag_request(const Socket& socket);

}  // namespace ebb::census
