// Network namespaces: which there are, and an open door into one (netlink sockets that live there, and its sysctls).
// Entering another one needs CAP_SYS_ADMIN; a thread of its own does it, so that nobody has to find the way back.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "census/limits.h"
#include "census/netlink_socket.h"

namespace ebb::census {

struct SpaceName {
  std::string name;  // for people: "this", a name of /run/netns, or "pid N"
  std::string path;  // "": the one we are in
};

struct SpaceDoor {
  NetlinkSocket diag;
  std::optional<NetlinkSocket> tracking;
  int tracking_error = 0;
  std::size_t entries = 0;  // that its table has; 0 also if that cannot be read
  Limits limits;
};

// Every namespace of this machine that a name in /run/netns or a process leads to, each once, our own first.
std::vector<SpaceName> all_spaces();
// A name of /run/netns, or a path.
SpaceName named_space(const std::string& name_or_path);
SpaceName space_of(std::uint32_t pid);

std::expected<SpaceDoor, std::string> open_space(const SpaceName& space);

}  // namespace ebb::census
