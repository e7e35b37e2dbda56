// Duplicates of other programs' sockets (pidfd_getfd, which needs permission to trace the process). The kernel shows
// some facts, and allows some changes, only to a holder of the socket.
#pragma once

#include <cstdint>
#include <optional>

#include "census/owners.h"
#include "census/socket.h"
#include "reactor/descriptor.h"

namespace ebb::census {

inline constexpr int tcp_rto_max_ms = 44;  // TCP_RTO_MAX_MS, Linux 6.15; not in Debian's headers

class Twins {
 public:
  // A duplicate of exactly this socket, checked by its cookie. Empty: not permitted, or the number now means another
  // socket.
  reactor::Descriptor open(const Process& process, const Socket& socket);

 private:
  std::uint32_t pid_ = 0;
  reactor::Descriptor pidfd_;  // of pid_; empty if it cannot be opened
};

std::optional<std::uint32_t> read_option(int socket, int level, int option);
bool set_option(int socket, int level, int option, std::uint32_t value);

}  // namespace ebb::census
