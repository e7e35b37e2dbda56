// Reads the file again when it, or a certificate that it names, has changed, and rolls the result out. A file that is
// wrong is refused whole; the old configuration keeps serving.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "app/rollout.h"
#include "config/load.h"
#include "config/watch.h"
#include "observe/event_log.h"

namespace ebb::app {

class Reload {
 public:
  // `running`: what the process was started with.
  Reload(std::string path, const config::Startup& running, Rollout& rollout, observe::EventLog& events)
      : path_(std::move(path)), running_(running), rollout_(rollout), events_(events) {}

  void watch(const routes::Model& model);
  void now();   // any thread
  void stop();  // after it, only now() reloads

 private:
  std::vector<std::string> files(const routes::Model& model) const;

  const std::string path_;
  const config::Startup running_;
  Rollout& rollout_;
  observe::EventLog& events_;
  std::mutex mutex_;  // one at a time: the watching thread, or a signal's
  std::unique_ptr<config::Watch> watch_;
};

}  // namespace ebb::app
