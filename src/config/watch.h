// Notices when files change, in a thread of its own. Folders are watched, not files: editors and Kubernetes replace a
// file by renaming another one (or a symbolic link on the way to it) over it, which ends a watch on the file itself.
//
//   event in a folder -> wait until it is quiet (20 ms, at most 60) -> look at the files -> changed? complete? call
//   back
//
// A changed file is complete when no process has it open for writing. If the kernel cannot say so (writers.h), a file
// is complete after an event for its name (closed, renamed), or after a settling time without a change. The callback
// reads all files, so an incomplete file delays the others; the watch reports a file that stays open. No event reports
// a writer that stays: without events the watch looks every `report_after`.
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

#include "base/clock.h"
#include "base/result.h"
#include "config/writers.h"

namespace ebb::config {

struct WatchOptions {
  // A change that waits because somebody has the file open for writing; said once it has waited for `report_after`,
  // then every `report_every`. From the watching thread.
  std::function<void(const std::string& file, base::Duration waiting)> held = nullptr;
  std::function<Writers(const std::string& file)> writers = writers_of;
  base::Duration settling = std::chrono::seconds{5};
  base::Duration report_after = std::chrono::seconds{5};
  base::Duration report_every = std::chrono::minutes{1};
};

class Watch {
 public:
  // `changed` is called from the watching thread, never twice at a time. A change after start() has returned is not
  // missed, so start before the first reading.
  static base::Result<std::unique_ptr<Watch>> start(std::vector<std::string> files, std::function<void()> changed,
                                                    WatchOptions options = {});
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Watches these from now on; may be called from `changed`. Files that are new here are compared with their state at
  // this call, so read them afterwards; those that are being written count as changed.
  void set_files(std::vector<std::string> files);

  // Whether all files still are what they were when `changed` was called; ask after reading them, before using what was
  // read. If not, `changed` is called again when they are complete. Any thread.
  bool current();
  // The caller is about to read the files as they are, complete or not. Any thread.
  void accept();

  std::vector<int> descriptors() const { return {inotify_, wake_}; }  // that it holds open

 private:
  // The file behind a path, and its version; equal until the file is written or replaced.
  struct Version {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;  // 0: there is no such file
    std::int64_t size = 0;
    std::int64_t modified_ns = 0;
    std::int64_t status_changed_ns = 0;
    friend bool operator==(const Version&, const Version&) = default;
  };
  // A name in a watched folder on the way to a file: its own, or that of a link or a folder above.
  struct Step {
    int watch = -1;
    std::string path;
    std::string file;
  };
  struct File {
    Version taken;              // at the last call back
    Version seen;               // at the last look
    base::Instant seen_since;   // for how long it has been that
    base::Instant waits_since;  // a change that is not complete
    base::Instant report_at;
    bool waits = false;
    bool was_completed = false;  // an event said so, since the last look
    Version completed;           // what it was at the look after that
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
  bool take_changes();  // true: a file is not what it was at the last call, and all are complete
  void look_at(const std::string& path, File& file, base::Instant now) const;
  bool is_complete(const std::string& path, File& file, base::Instant now) const;
  void report_held();
  static Version version_of(const std::string& file);

  const int inotify_;
  const int wake_;  // eventfd: stop, another set of files, or a look that is due
  const std::function<void()> changed_;
  const WatchOptions options_;
  const base::SystemClock clock_;

  std::mutex mutex_;  // guards what follows
  std::map<std::string, File> files_;
  std::vector<Step> steps_;
  bool stopping_ = false;

  std::thread thread_;
};

}  // namespace ebb::config
