#include "census/words.h"

#include <fmt/format.h>

#include "observe/text_escape.h"

namespace ebb::census {

std::string duration_text(std::int64_t ms) {
  if (ms < 1000) return fmt::format("{}ms", ms);
  if (ms < 60'000) return fmt::format("{}.{}s", ms / 1000, ms % 1000 / 100);
  const std::int64_t seconds = ms / 1000;
  if (seconds < 3600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  if (seconds < 86'400) return fmt::format("{}h{:02}m", seconds / 3600, seconds % 3600 / 60);
  return fmt::format("{}d{:02}h", seconds / 86'400, seconds % 86'400 / 3600);
}

std::string timer_text(const Socket& socket) {
  if (socket.timer == Timer::none) return "off";
  return fmt::format("{},{},{}", name(socket.timer), duration_text(socket.timer_ms), socket.timer_count);
}

std::string peer_text(const Socket& socket) {
  if (socket.state == State::listen) return "*";
  if (!socket.real_peer.valid()) return socket.peer.text();
  return socket.peer.text() + ">" + socket.real_peer.text();
}

std::string age_text(const std::optional<Age>& age) {
  if (!age) return "-";
  return (age->exact ? "" : ">") + duration_text(age->ms);
}

std::string ends_text(const GiveUp& give_up) {
  if (!give_up.in_ms) return "never";
  return (give_up.assumed ? "~" : "") + duration_text(*give_up.in_ms);
}

std::string process_text(const Sample& sample, const Socket& socket) {
  const Process* const process = sample.process_of(socket);
  if (process == nullptr) return "-";
  return fmt::format("{}/{} fd {}", harmless(process->name), process->pid, socket.fd);
}

std::string harmless(std::string_view text) {
  std::string out;
  observe::append_byte_escaped(out, text);
  return out;
}

std::string_view ending_word(Ending ending) {
  switch (ending) {
    case Ending::never: return "never";
    case Ending::retransmissions: return "retransmissions";
    case Ending::user_timeout: return "user_timeout";
    case Ending::keepalive: return "keepalive";
    case Ending::zero_window: return "zero_window";
    case Ending::handshake: return "handshake";
    case Ending::time_wait: return "time_wait";
  }
  return "";
}

}  // namespace ebb::census
