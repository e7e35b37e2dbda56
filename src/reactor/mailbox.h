// Tasks from other threads for the loop. A poster writes the eventfd only if the queue was empty: one wake-up serves
// all tasks that arrive before the loop looks.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "reactor/descriptor.h"

namespace ebb::reactor {

class Mailbox {
 public:
  using Task = std::move_only_function<void()>;

  Mailbox();
  int descriptor() const { return wake_.get(); }
  void post(Task task);  // any thread
  void wake();           // any thread
  void run();            // the loop's thread: clears the wake-up, then runs what has come so far, in order

 private:
  Descriptor wake_;
  std::mutex mutex_;
  std::vector<Task> tasks_;
};

}  // namespace ebb::reactor
