#include "config/watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <ranges>

namespace ebb::config {

namespace {

constexpr int quiet_ms = 20;
constexpr int quiet_rounds_max = 3;  // a folder that is never quiet delays a change by 60 ms at most
constexpr int links_max = 40;        // as the kernel's own limit (ELOOP)

// Not IN_MODIFY: a file that is being rewritten in place is looked at when its writer closes it, because half a file
// can be valid and mean something else. IN_CREATE is for symbolic and hard links. The *_SELF events say that the
// folder itself has gone, so that its successor must be watched.
constexpr std::uint32_t events = IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec; }

void drain(int descriptor) {
  alignas(inotify_event) char buffer[16384];
  while (::read(descriptor, buffer, sizeof(buffer)) > 0) {
  }
}

}  // namespace

base::Result<std::unique_ptr<Watch>> Watch::start(std::vector<std::string> files, std::function<void()> changed) {
  const int inotify = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (inotify < 0) return base::fail(base::Cause::resource_limit, "inotify_init1", errno);
  const int wake = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (wake < 0) {
    const int error = errno;
    ::close(inotify);
    return base::fail(base::Cause::resource_limit, "eventfd", error);
  }
  std::unique_ptr<Watch> watch(new Watch(inotify, wake, std::move(changed)));
  watch->set_files(std::move(files));
  watch->thread_ = std::thread([&self = *watch] { self.run(); });
  return watch;
}

Watch::Watch(int inotify, int wake, std::function<void()> changed)
    : inotify_(inotify), wake_(wake), changed_(std::move(changed)) {}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  ::eventfd_write(wake_, 1);
  if (thread_.joinable()) thread_.join();
  ::close(inotify_);
  ::close(wake_);
}

void Watch::set_files(std::vector<std::string> files) {
  const std::lock_guard lock(mutex_);
  std::map<std::string, Version> wanted;
  for (std::string& file : files) {
    const auto known = files_.find(file);
    const Version version = known != files_.end() ? known->second : version_of(file);
    wanted.emplace(std::move(file), version);
  }
  if (std::ranges::equal(wanted | std::views::keys, files_ | std::views::keys)) return;
  files_ = std::move(wanted);
  watch_folders();
  ::eventfd_write(wake_, 1);  // a folder that was not watched until now may have changed in between
}

void Watch::run() {
  while (wait(-1)) {
    settle();
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      // Watches first, then a look: what changes in between raises a new event.
      watch_folders();
      if (!take_changes()) continue;
    }
    changed_();
  }
}

bool Watch::wait(int timeout_ms) {
  pollfd descriptors[] = {{inotify_, POLLIN, 0}, {wake_, POLLIN, 0}};
  int ready = 0;
  do {
    ready = ::poll(descriptors, 2, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  drain(inotify_);
  drain(wake_);
  return ready > 0;
}

void Watch::settle() {
  for (int round = 0; round < quiet_rounds_max; ++round) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    if (!wait(quiet_ms)) return;
  }
}

// Anew each time, because a path may lead through other folders now (Kubernetes swaps the link `..data`). Removing a
// watch raises IN_IGNORED, which would wake us for ever; so one that is still wanted stays.
void Watch::watch_folders() {
  std::vector<int> before = std::move(watches_);
  watches_.clear();
  for (const auto& [file, version] : files_) add_folders_of(file);
  std::ranges::sort(watches_);
  const auto duplicates = std::ranges::unique(watches_);
  watches_.erase(duplicates.begin(), duplicates.end());
  for (const int watch : before) {
    if (!std::ranges::binary_search(watches_, watch)) ::inotify_rm_watch(inotify_, watch);
  }
}

// The folder of the file, and the folder of each symbolic link on the way to it.
void Watch::add_folders_of(const std::string& file) {
  std::error_code error;
  std::optional<std::filesystem::path> path = std::filesystem::absolute(file, error);
  if (error) return;
  for (int link = 0; link < links_max && path; ++link) path = add_folder_on_the_way(*path);
}

// Walks down until the first link, and returns the path with that link replaced by what it holds; or to the end, or
// to where nothing exists (yet): the folder above tells when it comes.
std::optional<std::filesystem::path> Watch::add_folder_on_the_way(const std::filesystem::path& path) {
  std::filesystem::path folder = path.root_path();
  const std::filesystem::path below = path.relative_path();
  for (auto part = below.begin(); part != below.end(); ++part) {
    const std::filesystem::path next = folder / *part;
    std::error_code error;
    const auto kind = std::filesystem::symlink_status(next, error).type();
    if (kind == std::filesystem::file_type::directory) {
      folder = next;
      continue;
    }
    const int watch = ::inotify_add_watch(inotify_, folder.c_str(), events);
    if (watch >= 0) watches_.push_back(watch);
    if (kind != std::filesystem::file_type::symlink) return std::nullopt;
    std::filesystem::path target = folder / std::filesystem::read_symlink(next, error);
    if (error) return std::nullopt;
    for (auto rest = std::next(part); rest != below.end(); ++rest) target /= *rest;
    return target;
  }
  return std::nullopt;
}

bool Watch::take_changes() {
  bool changed = false;
  for (auto& [file, version] : files_) {
    const Version now = version_of(file);
    // A file that is missing is about to come back, or else there is nothing to read.
    if (now.inode == 0 || now == version) continue;
    version = now;
    changed = true;
  }
  return changed;
}

Watch::Version Watch::version_of(const std::string& file) {
  struct stat status = {};
  if (::stat(file.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino, status.st_size, nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
}

}  // namespace ebb::config
