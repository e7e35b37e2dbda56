// Events of threads that must not wait for a log, above all of workers: a queue and a thread that writes. The lines per
// second are bounded; the outbox counts further lines and reports the count after that second.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "observe/event_log.h"

namespace ebb::observe {

// Allows `most` lines within a second from the first of them.
class LineBudget {
 public:
  explicit LineBudget(std::uint32_t most) : most_(most) {}

  bool take(base::Instant now) {
    if (now - begun_ >= std::chrono::seconds{1}) {
      begun_ = now;
      taken_ = 0;
    }
    if (taken_ < most_) {
      taken_ += 1;
      return true;
    }
    leave_out();
    return false;
  }
  void leave_out() { left_out_ += 1; }
  std::uint64_t left_out() const { return left_out_; }
  std::uint64_t take_left_out() { return std::exchange(left_out_, 0); }

 private:
  std::uint32_t most_;
  std::uint32_t taken_ = 0;
  std::uint64_t left_out_ = 0;
  base::Instant begun_{-std::chrono::hours{1}};
};

class EventOutbox {
 public:
  static constexpr std::uint32_t lines_per_second = 100;
  static constexpr std::size_t waiting_max = 1000;  // while the log takes no lines

  struct Field {
    std::string_view key;  // of static storage
    std::string value;
  };

  EventOutbox(EventLog& log, const base::Clock& clock);
  EventOutbox(const EventOutbox&) = delete;
  EventOutbox& operator=(const EventOutbox&) = delete;
  ~EventOutbox();  // writes the queued events

  // Any thread. `event` is of static storage.
  void put(EventLog::Level level, std::string_view event, std::vector<Field> fields);

 private:
  struct Event {
    base::WallTime at;
    EventLog::Level level;
    std::string_view name;
    std::vector<Field> fields;
  };

  void run();
  void write(const Event& event);

  EventLog& log_;
  const base::Clock& clock_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::vector<Event> waiting_;
  LineBudget budget_{lines_per_second};
  bool stopping_ = false;
  std::thread writer_;
};

}  // namespace ebb::observe
