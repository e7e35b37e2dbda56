// Asks all workers the same question by message and waits for the answers, with a deadline. The question runs on each
// worker's thread; everything else runs on the admin thread, so that no worker ever renders a page.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "admin/sources.h"
#include "serve/alarms.h"
#include "serve/door.h"

namespace ebb::admin {

template <class Reply>
using Replies = std::vector<std::optional<Reply>>;  // by worker; empty: no answer

template <class Reply>
class Asking {
 public:
  using Done = std::move_only_function<void(Replies<Reply>)>;
  Asking(std::size_t workers, serve::Alarms& alarms, Done done)
      : replies_(workers), missing_(workers), alarms_(alarms), done_(std::move(done)) {}

  void set_deadline(base::Handle deadline) { deadline_ = deadline; }
  void take(std::size_t worker, Reply reply) {
    if (done_ == nullptr) return;  // too late
    replies_[worker] = std::move(reply);
    missing_ -= 1;
    end_if(missing_ == 0);
  }
  void end_if(bool condition) {
    if (!condition || done_ == nullptr) return;
    alarms_.cancel(deadline_);
    std::exchange(done_, nullptr)(std::move(replies_));
  }

 private:
  Replies<Reply> replies_;
  std::size_t missing_;
  serve::Alarms& alarms_;
  base::Handle deadline_;
  Done done_;
};

// Shared by the workers' tasks and the deadline; the last of them frees it.
template <class Reply>
void ask_workers(const Sources& sources, const std::shared_ptr<serve::Door>& door, serve::Alarms& alarms,
                 base::Duration timeout, std::function<Reply(std::size_t worker)> question,
                 typename Asking<Reply>::Done done) {
  auto asking = std::make_shared<Asking<Reply>>(sources.workers, alarms, std::move(done));
  asking->set_deadline(alarms.run_after(timeout, [asking] { asking->end_if(true); }));
  for (std::size_t worker = 0; worker < sources.workers; ++worker) {
    sources.post(worker, [asking, door, question, worker] {
      door->post([asking, worker, reply = question(worker)]() mutable { asking->take(worker, std::move(reply)); });
    });
  }
  asking->end_if(sources.workers == 0);
}

}  // namespace ebb::admin
