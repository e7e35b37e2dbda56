#include "census/owners.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <memory>
#include <string_view>

namespace ebb::census {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

bool read_id(std::string_view text, std::uint32_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

// "socket:[12345]"
bool read_inode(std::string_view link, std::uint32_t& inode) {
  constexpr std::string_view prefix = "socket:[";
  if (!link.starts_with(prefix) || !link.ends_with(']')) return false;
  return read_id(link.substr(prefix.size(), link.size() - prefix.size() - 1), inode);
}

std::string name_of(std::uint32_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

void walk_one(std::uint32_t pid, Owners& owners) {
  const Folder folder(::opendir(("/proc/" + std::to_string(pid) + "/fd").c_str()));
  if (!folder) {
    if (errno == EACCES || errno == EPERM) ++owners.closed_doors;
    return;
  }
  std::uint32_t process = no_index;
  while (const dirent* const entry = ::readdir(folder.get())) {
    char link[64];
    const ssize_t length = ::readlinkat(::dirfd(folder.get()), entry->d_name, link, sizeof(link));
    std::uint32_t inode = 0;
    std::uint32_t fd = 0;
    if (length <= 0 || !read_inode({link, static_cast<std::size_t>(length)}, inode)) continue;
    if (!read_id(entry->d_name, fd)) continue;
    if (process == no_index) {
      process = static_cast<std::uint32_t>(owners.processes.size());
      owners.processes.push_back({pid, name_of(pid)});
    }
    owners.by_inode.try_emplace(inode, Holder{process, fd});
  }
}

}  // namespace

Owners walk_processes() {
  Owners owners;
  std::vector<std::uint32_t> pids;
  if (const Folder folder{::opendir("/proc")}) {
    while (const dirent* const entry = ::readdir(folder.get())) {
      std::uint32_t pid = 0;
      if (read_id(entry->d_name, pid)) pids.push_back(pid);
    }
  }
  std::ranges::sort(pids);
  for (const std::uint32_t pid : pids) walk_one(pid, owners);
  return owners;
}

}  // namespace ebb::census
