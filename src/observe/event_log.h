// Events for the operator: started, configuration applied or refused, listener opened, certificate about to expire. One
// line per event, to standard error. A write may wait for a reader, so workers do not write: they put their events into
// an outbox (event_outbox.h). If the reader stalls for a second, the log drops events and counts them.
// docs/event-log.md lists the events.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace ebb::observe {

class EventLog {
 public:
  enum class Level : std::uint8_t { info, warning, error };
  enum class Format : std::uint8_t {
    text,  // time=2026-01-01T00:00:00.000000Z level=info event=config_applied generation=7
    json,  // {"time":"2026-01-01T00:00:00.000000Z","level":"info","event":"config_applied","generation":"7"}
  };
  struct Field {
    std::string_view key;
    std::string_view value;
  };
  using Fields = std::initializer_list<Field>;

  // Does not own the descriptor.
  EventLog(int fd, Format format, const base::Clock& clock) : fd_(fd), format_(format), clock_(clock) {}

  void info(std::string_view event, Fields fields = {}) { write(Level::info, event, fields, clock_.wall()); }
  void warning(std::string_view event, Fields fields = {}) { write(Level::warning, event, fields, clock_.wall()); }
  void error(std::string_view event, Fields fields = {}) { write(Level::error, event, fields, clock_.wall()); }
  // For an event in the past.
  void write(Level level, std::string_view event, std::span<const Field> fields, base::WallTime at);

 private:
  static constexpr int patience_ms = 1000;
  bool put(std::string_view line);  // false: not written completely
  bool tell_dropped();

  const int fd_;
  const Format format_;
  const base::Clock& clock_;
  std::mutex mutex_;      // keeps the lines of concurrent writes whole; guards the members below
  bool stalled_ = false;  // the last line was not written
  bool torn_ = false;     // only the beginning of the last line was written
  std::uint64_t dropped_ = 0;
};

}  // namespace ebb::observe
