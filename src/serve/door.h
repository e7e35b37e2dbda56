// Posts tasks from other threads to a server's thread. They may hold a Door longer than the server lives: once it is
// shut, it drops tasks.
#pragma once

#include <functional>
#include <mutex>
#include <utility>

#include "reactor/reactor.h"

namespace ebb::serve {

class Door {
 public:
  explicit Door(reactor::Reactor& reactor) : reactor_(&reactor) {}

  // Runs the task on the server's thread; callable from any thread.
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
