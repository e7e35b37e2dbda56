#include "reactor/mailbox.h"

#include <sys/eventfd.h>

#include <cstdint>

namespace ebb::reactor {

Mailbox::Mailbox() : wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

void Mailbox::post(Task task) {
  bool was_empty;
  {
    std::lock_guard lock(mutex_);
    was_empty = tasks_.empty();
    tasks_.push_back(std::move(task));
  }
  if (was_empty) wake();
}

void Mailbox::wake() { ::eventfd_write(wake_.get(), 1); }

void Mailbox::run() {
  eventfd_t count;
  ::eventfd_read(wake_.get(), &count);
  std::vector<Task> tasks;
  {
    std::lock_guard lock(mutex_);
    tasks.swap(tasks_);
  }
  for (Task& task : tasks) task();
}

}  // namespace ebb::reactor
