// States what the configuration file says: reads it again when it, or a certificate that it names, has changed, and
// hands the model to the rollout. A file that is wrong is refused whole; the old configuration keeps serving. Files
// that are being written are waited for.
//
//   watch() -> the file is read for the first time -> serve() -> stop()
//
// The watch begins before the first reading, so that no change is missed; one that comes before serve() is made up for.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "config/load.h"
#include "config/watch.h"
#include "control/rollout.h"
#include "observe/event_log.h"

namespace ebb::control {

class FileProvider {
 public:
  static constexpr std::string_view name = "file";

  FileProvider(std::string path, observe::EventLog& events) : path_(std::move(path)), events_(events) {}

  void watch();
  // `running`: what the process was started with. The files are those of the configuration that serves now.
  void serve(Rollout& rollout, const config::Startup& running, const std::vector<std::string>& files);
  void now();                      // whatever the files are now, complete or not; any thread
  void stop();                     // joins the watch; after it, only now() reloads
  std::vector<int> descriptors();  // that the watch holds open; any thread

 private:
  void follow(std::vector<std::string> files);
  void load(bool as_they_are = false);  // files are read though somebody has them open for writing

  const std::string path_;
  observe::EventLog& events_;
  std::mutex mutex_;  // one reload at a time: the watching thread's, or a signal's
  Rollout* rollout_ = nullptr;
  config::Startup running_;
  bool missed_ = false;
  std::unique_ptr<config::Watch> watch_;
};

}  // namespace ebb::control
