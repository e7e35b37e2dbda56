// Provides the configuration file: reads it again when it, or a certificate that it names, has changed, and hands the
// model to the rollout. A faulty file is refused whole; the old configuration keeps serving. The provider waits for
// files that are being written.
//
//   watch() -> the file is read for the first time -> serve() -> stop()
//
// The watch begins before the first reading, so that no change is missed; serve() handles changes that came before it.
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
  // `running`: the settings at the start of the process. `files`: those of the current configuration.
  void serve(Rollout& rollout, const config::Startup& running, const std::vector<std::string>& files);
  void now();                      // read the files now, complete or not; any thread
  void stop();                     // joins the watch; after that, only now() reloads
  std::vector<int> descriptors();  // open descriptors of the watch; any thread

 private:
  void follow(std::vector<std::string> files);
  void load(bool as_they_are = false);  // even if a process has files open for writing

  const std::string path_;
  observe::EventLog& events_;
  std::mutex mutex_;  // one reload at a time: by the watching thread or a signal
  Rollout* rollout_ = nullptr;
  config::Startup running_;
  bool missed_ = false;
  std::unique_ptr<config::Watch> watch_;
};

}  // namespace ebb::control
