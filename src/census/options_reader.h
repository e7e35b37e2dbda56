// The options of sockets of other programs. sock_diag does not tell them; a duplicate of the descriptor does
// (pidfd_getfd, which asks for the right to trace the process).
#pragma once

#include "census/owners.h"
#include "census/socket.h"
#include "reactor/descriptor.h"

namespace ebb::census {

class OptionsReader {
 public:
  // True: read from this very socket, told by its cookie.
  bool read(const Process& process, Socket& socket);

 private:
  bool open(std::uint32_t pid);

  std::uint32_t pid_ = 0;
  reactor::Descriptor pidfd_;  // of pid_; none if it cannot be opened
  bool has_rto_max_ = true;    // until the kernel says that it does not know it
};

}  // namespace ebb::census
