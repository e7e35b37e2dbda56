#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace ebb::admin {

// A thread that runs what it is sent, as a worker's loop does; unless it hangs.
class FakeWorker {
 public:
  explicit FakeWorker(bool hangs) : hangs_(hangs), thread_([this] { run(); }) {}
  ~FakeWorker() {
    post(nullptr);
    thread_.join();
  }
  void post(std::move_only_function<void()> task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    more_.notify_one();
  }

 private:
  void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      more_.wait(lock, [this] { return !tasks_.empty(); });
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      if (task == nullptr) return;
      if (!hangs_) task();
    }
  }

  const bool hangs_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<std::move_only_function<void()>> tasks_;
  std::thread thread_;
};

}  // namespace ebb::admin
