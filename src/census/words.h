// Facts of a socket as short text, the same in every view. Text from other programs (names of processes) is escaped for
// terminals.
#pragma once

#include <string>

#include "census/census.h"

namespace ebb::census {

std::string duration_text(std::int64_t ms);    // "340ms", "12.3s", "15m41s", "2h11m", "3d04h"
std::string timer_text(const Socket& socket);  // "on,12.3s,4": kind, time left, count, as in `ss -o` and `netstat -o`
std::string peer_text(const Socket& socket);   // followed by the real peer: "10.96.0.1:443>10.1.0.5:8443"
std::string age_text(const std::optional<Age>& age);                   // "3m12s", ">1m05s", "-"
std::string ends_text(const GiveUp& give_up);                          // "15m24s", "~2h11m" if assumed, "never"
std::string process_text(const Sample& sample, const Socket& socket);  // "nginx/1234 fd 7", "-"
std::string harmless(std::string_view text);
std::string_view ending_word(Ending ending);

}  // namespace ebb::census
