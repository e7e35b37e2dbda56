#include "app/reload.h"

#include <cstring>

namespace ebb::app {

std::vector<std::string> Reload::files(const routes::Model& model) const {
  std::vector<std::string> all = config::files_of(model);
  all.push_back(path_);
  return all;
}

void Reload::watch(const routes::Model& model) {
  auto started = config::Watch::start(files(model), [this] { now(); });
  if (started) {
    watch_ = std::move(*started);
    return;
  }
  events_.warning("config_not_watched",
                  {{"reason", std::strerror(started.error().sys)},
                   {"remedy", "raise fs.inotify.max_user_instances, or send SIGHUP after a change"}});
}

void Reload::stop() {
  std::unique_ptr<config::Watch> last;
  {
    std::lock_guard lock(mutex_);
    last = std::move(watch_);
  }
  // Joined here, without the lock: its thread may be waiting for it.
}

void Reload::now() {
  std::lock_guard lock(mutex_);
  auto loaded = config::load(path_);
  if (!loaded) return rollout_.refuse(config::text_of(loaded.error()));
  for (const std::string& difference : config::needs_restart(running_, loaded->startup)) {
    events_.warning("needs_restart", {{"setting", difference}});
  }
  const std::vector<std::string> wanted = files(loaded->model);
  if (watch_ != nullptr) watch_->set_files(wanted);
  rollout_.apply(std::move(*loaded));
}

}  // namespace ebb::app
