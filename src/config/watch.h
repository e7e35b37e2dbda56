// Notices when files change, in a thread of its own. Folders are watched, not files: editors and Kubernetes replace a
// file by renaming another one (or a symbolic link on the way to it) over it, which ends a watch on the file itself.
//
//   event in a folder -> wait until it is quiet (20 ms, at most 60) -> look at the files -> changed? call back
//
// Owned by the application; its destructor joins the thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"

namespace ebb::config {

class Watch {
 public:
  // `changed` is called from the watching thread, never twice at a time. A change after start() has returned is not
  // missed, so start before the first reading.
  static base::Result<std::unique_ptr<Watch>> start(std::vector<std::string> files, std::function<void()> changed);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Watches these from now on; may be called from `changed`. Files that are new here are compared with their state at
  // this call, so read them afterwards.
  void set_files(std::vector<std::string> files);

  std::vector<int> descriptors() const { return {inotify_, wake_}; }  // that it holds open

 private:
  // Which file a path leads to and in which version; equal as long as nobody wrote or replaced it.
  struct Version {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;  // 0: there is no such file
    std::int64_t size = 0;
    std::int64_t modified_ns = 0;
    std::int64_t status_changed_ns = 0;
    friend bool operator==(const Version&, const Version&) = default;
  };

  Watch(int inotify, int wake, std::function<void()> changed);
  void run();
  bool wait(int timeout_ms);  // true: something happened
  void settle();
  void watch_folders();
  void add_folders_of(const std::string& file);
  std::optional<std::filesystem::path> add_folder_on_the_way(const std::filesystem::path& path);
  bool take_changes();  // true: a file is not what it was at the last call
  static Version version_of(const std::string& file);

  const int inotify_;
  const int wake_;  // eventfd: stop, or another set of files
  const std::function<void()> changed_;

  std::mutex mutex_;  // guards what follows
  std::map<std::string, Version> files_;
  std::vector<int> watches_;
  bool stopping_ = false;

  std::thread thread_;
};

}  // namespace ebb::config
