// Reads options of other programs' sockets. sock_diag does not report them; a duplicate of the descriptor does.
#pragma once

#include "census/twins.h"

namespace ebb::census {

class OptionsReader {
 public:
  // True: read from exactly this socket.
  bool read(const Process& process, Socket& socket);

 private:
  Twins twins_;
  bool has_rto_max_ = true;  // until the kernel rejects the option
};

}  // namespace ebb::census
