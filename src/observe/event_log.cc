#include "observe/event_log.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

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
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t taken = ::write(fd_, rest.data(), rest.size());
    if (taken < 0 && errno == EINTR) continue;
    if (taken <= 0) return;  // there is no place left to complain to
    rest.remove_prefix(static_cast<std::size_t>(taken));
  }
}

}  // namespace ebb::observe
