// Delayed tasks on the server's thread. Owned by the server; tasks that are left when it ends never run.
#pragma once

#include <functional>
#include <utility>

#include "base/slot_map.h"
#include "base/timer_wheel.h"
#include "reactor/reactor.h"

namespace ebb::serve {

class Alarms {
 public:
  // `kind`: the owner's kind for which the handler's on_timer() calls ring().
  Alarms(reactor::Reactor& reactor, std::uint32_t kind) : reactor_(reactor), kind_(kind) {}

  base::Handle run_after(base::Duration delay, std::move_only_function<void()> task) {
    const base::Handle handle = pending_.emplace(std::move(task));
    Pending& pending = *pending_.find(handle);
    pending.timer.set_owner({kind_, handle});
    reactor_.timers().arm(pending.timer, reactor_.now() + delay);
    return handle;
  }
  void cancel(base::Handle handle) { pending_.erase(handle); }
  void ring(base::Handle handle) {
    Pending* const pending = pending_.find(handle);
    if (pending == nullptr) return;
    auto task = std::move(pending->task);
    pending_.erase(handle);  // first: the task may set another alarm
    task();
  }

 private:
  struct Pending {
    explicit Pending(std::move_only_function<void()> what) : task(std::move(what)) {}
    std::move_only_function<void()> task;
    base::Timer timer;
  };
  reactor::Reactor& reactor_;
  const std::uint32_t kind_;
  base::SlotMap<Pending> pending_;
};

}  // namespace ebb::serve
