// Network namespaces: lists them, and opens a door into one (netlink sockets in it, and its sysctls). Entering another
// namespace needs CAP_SYS_ADMIN; a separate thread does it, so that no thread has to return.
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
  std::string name;      // for display: "this", a name in /run/netns, or "pid N"
  std::string path;      // "": the current namespace
  std::uint64_t id = 0;  // among current namespaces; 0: unknown
};

struct SpaceDoor {
  NetlinkSocket diag;
  std::optional<NetlinkSocket> tracking;
  int tracking_error = 0;
  std::size_t entries = 0;  // of its tracking table; 0 also if unreadable
  Limits limits;
};

// Every namespace that a name in /run/netns or a process leads to, each once, our own first.
std::vector<SpaceName> all_spaces();
// A name in /run/netns, or a path.
SpaceName named_space(const std::string& name_or_path);
SpaceName space_of(std::uint32_t pid);

std::expected<SpaceDoor, std::string> open_space(const SpaceName& space);

// Enters the namespaces one after the other (not our own) and visits each from inside. Returns when all are done. If
// one cannot be entered, its visit gets the reason.
using Visit = std::function<void(std::size_t index, const std::expected<void, std::string>& entered)>;
void visit_spaces(std::span<const SpaceName> spaces, const Visit& visit);
// Call from inside. `known`: its sysctls, if read before; finding them takes longer the more namespaces there are.
std::expected<SpaceDoor, std::string> open_door(const Limits* known);

}  // namespace ebb::census
