#include "control/file_provider.h"

#include <cstring>

namespace ebb::control {

void FileProvider::watch() {
  std::lock_guard lock(mutex_);
  const auto changed = [this] {
    std::lock_guard lock(mutex_);
    load();
  };
  const auto held = [this](const std::string& file, base::Duration waiting) {
    events_.warning("file_held_open", {{"file", file},
                                       {"waiting_s", std::to_string(base::to_ms(waiting) / 1000)},
                                       {"reason", "another process has it open for writing, so it may be incomplete"},
                                       {"remedy", "let its writer close it, or send SIGHUP to read it as it is"}});
  };
  auto started = config::Watch::start({path_}, changed, {.held = held});
  if (started) {
    watch_ = std::move(*started);
    return;
  }
  events_.warning("config_not_watched",
                  {{"reason", std::strerror(started.error().sys)},
                   {"remedy", "raise fs.inotify.max_user_instances, or send SIGHUP after a change"}});
}

void FileProvider::serve(Rollout& rollout, const config::Startup& running, const std::vector<std::string>& files) {
  bool missed = false;
  {
    std::lock_guard lock(mutex_);
    rollout_ = &rollout;
    running_ = running;
    missed = std::exchange(missed_, false);
    follow(files);
  }
  if (!missed) return;
  std::lock_guard lock(mutex_);
  load();
}

void FileProvider::follow(std::vector<std::string> files) {
  files.push_back(path_);
  if (watch_ != nullptr) watch_->set_files(std::move(files));
}

void FileProvider::stop() {
  std::unique_ptr<config::Watch> last;
  {
    std::lock_guard lock(mutex_);
    last = std::move(watch_);
  }
  // Join without the lock: the watch's thread may be waiting for it.
}

std::vector<int> FileProvider::descriptors() {
  std::lock_guard lock(mutex_);
  return watch_ == nullptr ? std::vector<int>() : watch_->descriptors();
}

void FileProvider::now() {
  std::lock_guard lock(mutex_);
  if (watch_ != nullptr) watch_->accept();
  load(true);
}

void FileProvider::load(bool as_they_are) {
  if (rollout_ == nullptr) {
    missed_ = true;
    return;
  }
  const auto still_current = [this] { return watch_ == nullptr || watch_->current(); };
  auto loaded = config::load(path_);
  if (!loaded) {
    if (still_current()) rollout_->refuse(config::text_of(loaded.error()));
    return;
  }
  for (const std::string& difference : config::needs_restart(running_, loaded->startup)) {
    events_.warning("needs_restart", {{"setting", difference}});
  }
  follow(config::files_of(loaded->model));
  if (as_they_are && watch_ != nullptr) watch_->accept();  // also files that the configuration names only now
  rollout_->apply({.provider = name, .model = std::move(loaded->model), .still_current = still_current});
}

}  // namespace ebb::control
