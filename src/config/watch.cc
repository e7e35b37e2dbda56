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
#include <utility>

namespace ebb::config {

namespace {

constexpr int quiet_ms = 20;
constexpr int quiet_rounds_max = 3;  // caps the delay at 60 ms in a folder that is never quiet
constexpr int links_max = 40;        // as the kernel's own limit (ELOOP)
constexpr int look_again_ms = 250;   // while a file is incomplete; the close by its writer wakes the thread earlier

// Not IN_MODIFY: a file that is rewritten in place is read when its writer closes it, because half a file can be valid
// and mean something else. IN_CREATE is for symbolic and hard links. The *_SELF events report that the folder itself is
// gone, so that its successor must be watched.
constexpr std::uint32_t events = IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec; }

// True if a new directory entry is complete at once: a link, or a second name of an existing file.
bool is_link(const std::string& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0) return false;
  return S_ISLNK(status.st_mode) || (S_ISREG(status.st_mode) && status.st_nlink > 1);
}

}  // namespace

base::Result<std::unique_ptr<Watch>> Watch::start(std::vector<std::string> files, std::function<void()> changed,
                                                  WatchOptions options) {
  const int inotify = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (inotify < 0) return base::fail(base::Cause::resource_limit, "inotify_init1", errno);
  const int wake = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (wake < 0) {
    const int error = errno;
    ::close(inotify);
    return base::fail(base::Cause::resource_limit, "eventfd", error);
  }
  std::unique_ptr<Watch> watch(new Watch(inotify, wake, std::move(changed), std::move(options)));
  watch->set_files(std::move(files));
  watch->thread_ = std::thread([&self = *watch] { self.run(); });
  return watch;
}

Watch::Watch(int inotify, int wake, std::function<void()> changed, WatchOptions options)
    : inotify_(inotify), wake_(wake), changed_(std::move(changed)), options_(std::move(options)) {}

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
  std::map<std::string, File> wanted;
  for (std::string& path : files) {
    const auto known = files_.find(path);
    File file;
    if (known != files_.end()) {
      file = known->second;
    } else if (options_.writers(path) != Writers::some) {
      file.taken = version_of(path);
    }
    wanted.emplace(std::move(path), file);
  }
  if (std::ranges::equal(wanted | std::views::keys, files_ | std::views::keys)) return;
  files_ = std::move(wanted);
  watch_folders();
  ::eventfd_write(wake_, 1);  // a newly watched folder may have changed before its watch existed
}

bool Watch::current() {
  const std::lock_guard lock(mutex_);
  for (const auto& [path, file] : files_) {
    const Version now = version_of(path);
    if (now.inode == 0 || now == file.taken) continue;
    ::eventfd_write(wake_, 1);
    return false;
  }
  return true;
}

void Watch::accept() {
  const std::lock_guard lock(mutex_);
  for (auto& [path, file] : files_) {
    file.taken = version_of(path);
    file.waits = false;
  }
}

void Watch::run() {
  for (;;) {
    const bool told = wait(wait_ms());
    if (told) settle();
    bool changed = false;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      // Add watches before looking: a change after the look then raises an event.
      if (told) watch_folders();
      changed = take_changes();
    }
    if (changed) {
      changed_();
    } else {
      report_held();
    }
  }
}

int Watch::wait_ms() {
  const std::lock_guard lock(mutex_);
  const auto waits = [](const auto& entry) { return entry.second.waits; };
  if (std::ranges::any_of(files_, waits)) return look_again_ms;
  // A writer that has written and keeps the file open raises no event: look periodically.
  return static_cast<int>(std::max<std::int64_t>(base::to_ms(options_.report_after), 1));
}

bool Watch::wait(int timeout_ms) {
  pollfd descriptors[] = {{inotify_, POLLIN, 0}, {wake_, POLLIN, 0}};
  int ready = 0;
  do {
    ready = ::poll(descriptors, 2, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) return false;  // the next call reports events that come after this point
  take_events();
  eventfd_t count = 0;
  ::eventfd_read(wake_, &count);
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

void Watch::take_events() {
  alignas(inotify_event) char buffer[16384];
  ssize_t size = 0;
  while ((size = ::read(inotify_, buffer, sizeof(buffer))) > 0) {
    const std::lock_guard lock(mutex_);
    for (const char* at = buffer; at < buffer + size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(at);
      at += sizeof(inotify_event) + event->len;
      take_event(event->wd, event->mask, event->len > 0 ? event->name : "");
    }
  }
}

// Only without knowledge of writers does the event's file name matter.
void Watch::take_event(int watch, std::uint32_t mask, const std::string& name) {
  for (const Step& step : steps_) {
    if (step.watch != watch || std::filesystem::path(step.path).filename() != name) continue;
    const bool completes =
        (mask & (IN_CLOSE_WRITE | IN_MOVED_TO)) != 0 || ((mask & IN_CREATE) != 0 && is_link(step.path));
    const auto file = files_.find(step.file);
    if (completes && file != files_.end()) file->second.was_completed = true;
  }
}

// Computed anew each time, because a path may now lead through other folders (Kubernetes swaps the link `..data`).
// Watches that are still wanted stay: removing one raises IN_IGNORED, which would wake this thread in a loop.
void Watch::watch_folders() {
  const std::vector<Step> before = std::exchange(steps_, {});
  for (const auto& [path, file] : files_) add_folders_of(path);
  std::ranges::sort(steps_, {}, &Step::watch);
  int removed = -1;
  for (const Step& step : before) {
    if (step.watch == removed || std::ranges::binary_search(steps_, step.watch, {}, &Step::watch)) continue;
    ::inotify_rm_watch(inotify_, removed = step.watch);
  }
}

// The folder of the file, and the folder of each symbolic link on the way to it.
void Watch::add_folders_of(const std::string& file) {
  std::error_code error;
  std::optional<std::filesystem::path> path = std::filesystem::absolute(file, error);
  if (error) return;
  for (int link = 0; link < links_max && path; ++link) path = add_folder_on_the_way(*path, file);
}

// Walks down to the first link and returns the path with that link replaced by its target. Stops at the end, or where
// no entry exists yet: the watch on the folder above reports when it appears.
std::optional<std::filesystem::path> Watch::add_folder_on_the_way(const std::filesystem::path& path,
                                                                  const std::string& file) {
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
    if (watch >= 0) steps_.push_back({watch, next.string(), file});
    if (kind != std::filesystem::file_type::symlink) return std::nullopt;
    std::filesystem::path target = folder / std::filesystem::read_symlink(next, error);
    if (error) return std::nullopt;
    for (auto rest = std::next(part); rest != below.end(); ++rest) target /= *rest;
    return target;
  }
  return std::nullopt;
}

bool Watch::take_changes() {
  const base::Instant now = clock_.now();
  bool changed = false;
  bool complete = true;
  for (auto& [path, file] : files_) {
    look_at(path, file, now);
    // Most missing files come back soon; until then there is nothing to read.
    if (file.seen.inode == 0 || file.seen == file.taken) {
      file.waits = false;
      continue;
    }
    changed = true;
    complete &= is_complete(path, file, now);
  }
  if (!changed || !complete) return false;
  for (auto& [path, file] : files_) {
    if (file.seen.inode != 0) file.taken = file.seen;
    file.waits = false;
  }
  return true;
}

void Watch::look_at(const std::string& path, File& file, base::Instant now) const {
  const Version version = version_of(path);
  if (version != std::exchange(file.seen, version)) file.seen_since = now;
  if (std::exchange(file.was_completed, false)) file.completed = version;
}

bool Watch::is_complete(const std::string& path, File& file, base::Instant now) const {
  const Writers writers = options_.writers(path);
  const bool settled = file.completed == file.seen || now - file.seen_since >= options_.settling;
  if (writers == Writers::none || (writers == Writers::unknown && settled)) return true;
  if (!std::exchange(file.waits, true)) {
    file.waits_since = now;
    file.report_at = now + options_.report_after;
  }
  return false;
}

void Watch::report_held() {
  std::vector<std::pair<std::string, base::Duration>> held;
  {
    const std::lock_guard lock(mutex_);
    const base::Instant now = clock_.now();
    for (auto& [path, file] : files_) {
      if (!file.waits || now < file.report_at) continue;
      file.report_at = now + options_.report_every;
      held.emplace_back(path, now - file.waits_since);
    }
  }
  if (options_.held == nullptr) return;
  for (const auto& [path, waiting] : held) options_.held(path, waiting);
}

Watch::Version Watch::version_of(const std::string& file) {
  struct stat status = {};
  if (::stat(file.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino, status.st_size, nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
}

}  // namespace ebb::config
