#include "census/spaces.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <thread>
#include <utility>

#include "reactor/descriptor.h"

namespace ebb::census {
namespace {

constexpr const char* named_folder = "/run/netns";
constexpr const char* own_path = "/proc/self/ns/net";

// /proc/sys/net shows the reader's namespace. Files of newer kernels may be missing.
Limits read_limits() {
  Limits limits;
  each_limit(limits, [](const char* name, auto& value) {
    std::ifstream file(std::string("/proc/sys/net/ipv4/") + name);
    std::uint32_t found = 0;
    if (!(file >> found)) return;
    using Number = std::remove_reference_t<decltype(value)>;
    value = static_cast<Number>(std::min<std::uint32_t>(found, std::numeric_limits<Number>::max()));
  });
  return limits;
}

std::size_t read_entries() {
  std::ifstream file("/proc/sys/net/netfilter/nf_conntrack_count");
  std::size_t count = 0;
  return file >> count ? count : 0;
}

// Sorted; empty if the folder cannot be read.
std::vector<std::string> names_in(const char* folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

bool is_number(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

SpaceName named_space(const std::string& name_or_path) {
  if (name_or_path.find('/') != std::string::npos) return {name_or_path, name_or_path};
  return {name_or_path, std::string(named_folder) + "/" + name_or_path};
}

SpaceName space_of(std::uint32_t pid) {
  const std::string number = std::to_string(pid);
  return {"pid " + number, "/proc/" + number + "/ns/net"};
}

std::vector<SpaceName> all_spaces() {
  std::vector<SpaceName> spaces;
  std::set<std::pair<dev_t, ino_t>> seen;
  const auto add = [&](SpaceName space, const std::string& path) {
    struct stat facts{};
    if (::stat(path.c_str(), &facts) != 0 || !seen.emplace(facts.st_dev, facts.st_ino).second) return;
    space.id = facts.st_ino;
    spaces.push_back(std::move(space));
  };
  add({"this", ""}, own_path);
  for (const std::string& name : names_in(named_folder)) add(named_space(name), named_space(name).path);
  for (const std::string& number : names_in("/proc")) {
    if (is_number(number)) add({"pid " + number, "/proc/" + number + "/ns/net"}, "/proc/" + number + "/ns/net");
  }
  return spaces;
}

std::expected<SpaceDoor, std::string> open_door(const Limits* known) {
  auto diag = NetlinkSocket::open(NETLINK_SOCK_DIAG);
  if (!diag) return std::unexpected(std::string("sock_diag: ") + std::strerror(diag.error()));
  SpaceDoor door{
      .diag = std::move(*diag), .entries = read_entries(), .limits = known != nullptr ? *known : read_limits()};
  auto tracking = NetlinkSocket::open(NETLINK_NETFILTER);
  if (tracking) {
    door.tracking = std::move(*tracking);
  } else {
    door.tracking_error = tracking.error();
  }
  return door;
}

void visit_spaces(std::span<const SpaceName> spaces, const Visit& visit) {
  if (spaces.empty()) return;
  std::jthread([&] {
    for (std::size_t i = 0; i < spaces.size(); ++i) {
      const std::string& path = spaces[i].path;
      const reactor::Descriptor target(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
      if (target && ::setns(target.get(), CLONE_NEWNET) == 0) {
        visit(i, {});
      } else {
        visit(i, std::unexpected(path + ": " + std::strerror(errno)));
      }
    }
  }).join();
}

std::expected<SpaceDoor, std::string> open_space(const SpaceName& space) {
  if (space.path.empty()) return open_door(nullptr);
  std::expected<SpaceDoor, std::string> door = std::unexpected(std::string());
  visit_spaces({&space, 1}, [&door](std::size_t, const std::expected<void, std::string>& entered) {
    door = entered ? open_door(nullptr) : std::unexpected(entered.error());
  });
  return door;
}

}  // namespace ebb::census
