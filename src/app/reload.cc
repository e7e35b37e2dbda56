#include "app/reload.h"

#include <cstring>

namespace ebb::app {

void Reload::watch() {
  std::lock_guard lock(mutex_);
  auto started = config::Watch::start({path_}, [this] { now(); });
  if (started) {
    watch_ = std::move(*started);
    return;
  }
  events_.warning("config_not_watched",
                  {{"reason", std::strerror(started.error().sys)},
                   {"remedy", "raise fs.inotify.max_user_instances, or send SIGHUP after a change"}});
}

void Reload::serve(Rollout& rollout, const config::Startup& running, const std::vector<std::string>& files) {
  bool missed = false;
  {
    std::lock_guard lock(mutex_);
    rollout_ = &rollout;
    running_ = running;
    missed = std::exchange(missed_, false);
    follow(files);
  }
  if (missed) now();
}

void Reload::follow(std::vector<std::string> files) {
  files.push_back(path_);
  if (watch_ != nullptr) watch_->set_files(std::move(files));
}

void Reload::stop() {
  std::unique_ptr<config::Watch> last;
  {
    std::lock_guard lock(mutex_);
    last = std::move(watch_);
  }
  // Joined here, without the lock: its thread may be waiting for it.
}

std::vector<int> Reload::descriptors() {
  std::lock_guard lock(mutex_);
  return watch_ == nullptr ? std::vector<int>() : watch_->descriptors();
}

void Reload::now() {
  std::lock_guard lock(mutex_);
  if (rollout_ == nullptr) {
    missed_ = true;
    return;
  }
  auto loaded = config::load(path_);
  if (!loaded) return rollout_->refuse(config::text_of(loaded.error()));
  for (const std::string& difference : config::needs_restart(running_, loaded->startup)) {
    events_.warning("needs_restart", {{"setting", difference}});
  }
  follow(config::files_of(loaded->model));
  rollout_->apply(std::move(*loaded));
}

}  // namespace ebb::app
