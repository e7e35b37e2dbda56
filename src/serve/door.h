// The way to a server's thread for all other threads. They may hold a Door longer than the server lives: once it is
// shut, tasks are dropped.
#pragma once

#include <functional>
#include <mutex>
#include <utility>

#include "reactor/reactor.h"

namespace ebb::serve {

class Door {
 public:
  explicit Door(reactor::Reactor& reactor) : reactor_(&reactor) {}

  // Runs the task on the server's thread; any thread may ask.
  void post(std::move_only_function<void()> task) {
    const std::lock_guard lock(mutex_);
    if (reactor_ != nullptr) reactor_->post(std::move(task));
  }
  void shut() {
    const std::lock_guard lock(mutex_);
    reactor_ = nullptr;
  }

 private:
  std::mutex mutex_;
  reactor::Reactor* reactor_;
};

}  // namespace ebb::serve
