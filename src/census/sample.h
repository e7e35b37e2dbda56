// A sample: one look at all sockets. Owns everything that its sockets refer to by number.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "census/limits.h"
#include "census/owners.h"
#include "census/socket.h"

namespace ebb::census {

struct Space {
  std::string name;
  Limits limits;
};

struct Sample {
  base::WallTime at{};
  std::vector<Space> spaces;
  std::vector<Process> processes;
  std::vector<Socket> sockets;
  std::vector<std::string> notes;  // missing parts, and the privilege that would show them

  const Limits& limits_of(const Socket& socket) const { return spaces[socket.space].limits; }
  const Process* process_of(const Socket& socket) const {
    return socket.process == no_index ? nullptr : &processes[socket.process];
  }
};

}  // namespace ebb::census
