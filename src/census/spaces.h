// Network namespaces: which there are, and an open door into one (netlink sockets that live there, and its sysctls).
// Entering others needs CAP_SYS_ADMIN; a thread of its own does it, so that nobody has to find the way back.
#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "census/limits.h"
#include "census/netlink_socket.h"

namespace ebb::census {

struct SpaceName {
  std::string name;      // for people: "this", a name of /run/netns, or "pid N"
  std::string path;      // "": the one we are in
  std::uint64_t id = 0;  // among those that there are now; 0: not looked for
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

// Goes into one after the other, none of them our own, and visits each from inside. Returns when all is done. The
// visit of one that could not be entered is told why.
using Visit = std::function<void(std::size_t index, const std::expected<void, std::string>& entered)>;
void visit_spaces(std::span<const SpaceName> spaces, const Visit& visit);
// From inside. `known`: its sysctls, where they were read before; to find them takes longer the more namespaces there
// are.
std::expected<SpaceDoor, std::string> open_door(const Limits* known);

}  // namespace ebb::census
