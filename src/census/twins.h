// Duplicates of sockets of other programs (pidfd_getfd, which asks for the right to trace the process): what the
// kernel tells or lets be changed only to whoever holds the socket.
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
  // Of this very socket, told by its cookie. None: it may not be had, or its number means another socket by now.
  reactor::Descriptor open(const Process& process, const Socket& socket);

 private:
  std::uint32_t pid_ = 0;
  reactor::Descriptor pidfd_;  // of pid_; none if it cannot be opened
};

std::optional<std::uint32_t> read_option(int socket, int level, int option);
bool set_option(int socket, int level, int option, std::uint32_t value);

}  // namespace ebb::census
