// The options of sockets of other programs. sock_diag does not tell them; a duplicate of the descriptor does.
#pragma once

#include "census/twins.h"

namespace ebb::census {

class OptionsReader {
 public:
  // True: read from this very socket.
  bool read(const Process& process, Socket& socket);

 private:
  Twins twins_;
  bool has_rto_max_ = true;  // until the kernel says that it does not know it
};

}  // namespace ebb::census
