#include "observe/event_log.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "observe/text_escape.h"

namespace ebb::observe {
namespace {

constexpr std::size_t value_bytes_max = 4096;

std::string_view name(EventLog::Level level) {
  switch (level) {
    case EventLog::Level::info: return "info";
    case EventLog::Level::warning: return "warning";
    case EventLog::Level::error: return "error";
  }
  return "error";
}

bool needs_quotes(std::string_view value) {
  const auto bare = [](char c) { return c > ' ' && c < 0x7f && c != '"' && c != '\\' && c != '='; };
  return value.empty() || !std::ranges::all_of(value, bare);
}

void append_pair(std::string& line, EventLog::Format format, std::string_view key, std::string_view value) {
  const bool json = format == EventLog::Format::json;
  if (!line.empty()) line += json ? ',' : ' ';
  if (line.empty() && json) line += '{';
  if (json) line += '"';
  line += key;
  line += json ? "\":" : "=";
  const bool quotes = json || needs_quotes(value);
  if (quotes) line += '"';
  append_cut(line, value, value_bytes_max, append_json_escaped);
  if (quotes) line += '"';
}

}  // namespace

void EventLog::write(Level level, std::string_view event, std::span<const Field> fields, base::WallTime at) {
  std::string time;
  append_rfc3339(time, at);
  std::string line;
  append_pair(line, format_, "time", time);
  append_pair(line, format_, "level", name(level));
  append_pair(line, format_, "event", event);
  for (const Field& field : fields) append_pair(line, format_, field.key, field.value);
  line += format_ == Format::json ? "}\n" : "\n";

  const std::lock_guard lock(mutex_);
  if (stalled_ && !tell_dropped()) {
    ++dropped_;
  } else if (!put(line)) {
    ++dropped_;
  }
}

// The report of missing lines goes first; without it no other line is written.
bool EventLog::tell_dropped() {
  std::string line = torn_ ? "\n" : "";
  std::string pairs;
  std::string time;
  append_rfc3339(time, clock_.wall());
  append_pair(pairs, format_, "time", time);
  append_pair(pairs, format_, "level", name(Level::warning));
  append_pair(pairs, format_, "event", "events_dropped");
  append_pair(pairs, format_, "count", std::to_string(dropped_));
  line += pairs;
  line += format_ == Format::json ? "}\n" : "\n";
  if (!put(line)) return false;
  stalled_ = false;
  dropped_ = 0;
  return true;
}

// pipe(7): a pipe that polls writable takes PIPE_BUF bytes without blocking. The log waits for a stalled reader once;
// after that it does not wait until the reader takes bytes again.
bool EventLog::put(std::string_view line) {
  for (std::string_view rest = line; !rest.empty();) {
    pollfd writable{.fd = fd_, .events = POLLOUT, .revents = 0};
    const int ready = ::poll(&writable, 1, stalled_ ? 0 : patience_ms);
    if (ready < 0 && errno == EINTR) continue;
    const ssize_t taken = ready > 0 ? ::write(fd_, rest.data(), std::min<std::size_t>(rest.size(), PIPE_BUF)) : 0;
    if (taken < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (taken <= 0) {
      stalled_ = true;
      torn_ = rest.size() < line.size();
      return false;
    }
    rest.remove_prefix(static_cast<std::size_t>(taken));
  }
  torn_ = false;
  return true;
}

}  // namespace ebb::observe
