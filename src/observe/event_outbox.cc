#include "observe/event_outbox.h"

#include <csignal>

namespace ebb::observe {

EventOutbox::EventOutbox(EventLog& log, const base::Clock& clock) : log_(log), clock_(clock) {
  // The main thread handles signals.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  writer_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

EventOutbox::~EventOutbox() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  writer_.join();
}

void EventOutbox::put(EventLog::Level level, std::string_view event, std::vector<Field> fields) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() == waiting_max) {
      budget_.leave_out();
    } else if (budget_.take(clock_.now())) {
      waiting_.push_back({clock_.wall(), level, event, std::move(fields)});
    }
  }
  changed_.notify_one();
}

void EventOutbox::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty() || budget_.left_out() > 0; });
    const std::vector<Event> events = std::exchange(waiting_, {});
    lock.unlock();
    for (const Event& event : events) write(event);
    lock.lock();
    if (budget_.left_out() > 0) {
      changed_.wait_for(lock, std::chrono::seconds{1}, [this] { return stopping_; });
      const std::string count = std::to_string(budget_.take_left_out());
      lock.unlock();
      log_.warning("events_left_out", {{"count", count}});
      lock.lock();
    }
    if (stopping_ && waiting_.empty()) return;
  }
}

void EventOutbox::write(const Event& event) {
  std::vector<EventLog::Field> fields;
  for (const Field& field : event.fields) fields.push_back({field.key, field.value});
  log_.write(event.level, event.name, fields, event.at);
}

}  // namespace ebb::observe
