// Notices file changes, in a separate thread. It watches folders, not files: editors and Kubernetes replace a file by
// renaming another file or symbolic link over it, which would end a watch on the file.
//
//   event in a folder -> wait until quiet (20 ms, at most 60) -> look at the files -> changed? complete? call back
//
// A changed file is complete when no process has it open for writing. If the kernel cannot tell (writers.h), a file is
// complete after an event for its name (closed, renamed), or after a settling time without a change. The callback reads
// all files, so an incomplete file delays the others; the watch reports files that stay open. A writer that keeps a
// file open raises no event: without events the watch looks every `report_after`.
//
// Owned by the application; the destructor joins the thread.
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

#include "base/clock.h"
#include "base/result.h"
#include "config/writers.h"

namespace ebb::config {

struct WatchOptions {
  // Reports a change that waits because a process has the file open for writing: first after `report_after`, then every
  // `report_every`. Called from the watching thread.
  std::function<void(const std::string& file, base::Duration waiting)> held = nullptr;
  std::function<Writers(const std::string& file)> writers = writers_of;
  base::Duration settling = std::chrono::seconds{5};
  base::Duration report_after = std::chrono::seconds{5};
  base::Duration report_every = std::chrono::minutes{1};
};

class Watch {
 public:
  // `changed` is called from the watching thread, never concurrently. No change after start() is missed: call start()
  // before the first reading.
  static base::Result<std::unique_ptr<Watch>> start(std::vector<std::string> files, std::function<void()> changed,
                                                    WatchOptions options = {});
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Watches these files from now on; may be called from `changed`. New files are compared with their state at this
  // call, so read them afterwards. Files that are being written count as changed.
  void set_files(std::vector<std::string> files);

  // True if all files are unchanged since `changed` was called. Ask after reading the files and before using their
  // content. If false, `changed` is called again once they are complete. Any thread.
  bool current();
  // Call before reading the files as they are, complete or not. Any thread.
  void accept();

  std::vector<int> descriptors() const { return {inotify_, wake_}; }  // descriptors that this watch holds open

 private:
  // The file behind a path, and its version: equal until the file is written or replaced.
  struct Version {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;  // 0: there is no such file
    std::int64_t size = 0;
    std::int64_t modified_ns = 0;
    std::int64_t status_changed_ns = 0;
    friend bool operator==(const Version&, const Version&) = default;
  };
  // A name in a watched folder on the way to a file: the file's, or that of a link or a folder above.
  struct Step {
    int watch = -1;
    std::string path;
    std::string file;
  };
  struct File {
    Version taken;              // at the last callback
    Version seen;               // at the last look
    base::Instant seen_since;   // when that version was first seen
    base::Instant waits_since;  // when an incomplete change was first seen
    base::Instant report_at;
    bool waits = false;
    bool was_completed = false;  // by an event since the last look
    Version completed;           // the version at the look after that event
  };

  Watch(int inotify, int wake, std::function<void()> changed, WatchOptions options);
  void run();
  bool wait(int timeout_ms);  // true: something happened
  int wait_ms();
  void settle();
  void take_events();
  void take_event(int watch, std::uint32_t mask, const std::string& name);
  void watch_folders();
  void add_folders_of(const std::string& file);
  std::optional<std::filesystem::path> add_folder_on_the_way(const std::filesystem::path& path,
                                                             const std::string& file);
  bool take_changes();  // true: a file has changed since the last callback, and all files are complete
  void look_at(const std::string& path, File& file, base::Instant now) const;
  bool is_complete(const std::string& path, File& file, base::Instant now) const;
  void report_held();
  static Version version_of(const std::string& file);

  const int inotify_;
  const int wake_;  // eventfd: stop, another set of files, or a look that is due
  const std::function<void()> changed_;
  const WatchOptions options_;
  const base::SystemClock clock_;

  std::mutex mutex_;  // guards the members below
  std::map<std::string, File> files_;
  std::vector<Step> steps_;
  bool stopping_ = false;

  std::thread thread_;
};

}  // namespace ebb::config
