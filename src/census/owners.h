// Finds the programs that hold sockets: one walk over /proc/*/fd. A socket shared by several processes belongs to the
// lowest process id that we may inspect.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "census/socket.h"

namespace ebb::census {

struct Process {
  std::uint32_t pid = 0;
  std::string name;
};

struct Holder {
  std::uint32_t process = no_index;
  std::uint32_t fd = 0;
};

struct Owners {
  std::vector<Process> processes;
  std::unordered_map<std::uint32_t, Holder> by_inode;
  std::uint32_t closed_doors = 0;  // processes that we may not inspect

  Holder holder_of(std::uint32_t inode) const {
    const auto found = by_inode.find(inode);
    return found == by_inode.end() ? Holder{} : found->second;
  }
};

Owners walk_processes();

}  // namespace ebb::census
