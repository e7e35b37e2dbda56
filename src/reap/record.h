// An action on a socket, with its evidence: a line of the log.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "census/socket.h"
#include "reap/judge.h"

namespace ebb::reap {

enum class Outcome : std::uint8_t {
  ended,
  would_end,    // but the policy does not act
  over_budget,  // postponed
  recovered,    // the second look found no grounds
  vanished,     // it had ended before the second look
  failed,
  not_allowed,
};
inline constexpr std::array<std::string_view, 7> outcome_names = {"ended",    "would_end", "over_budget", "recovered",
                                                                  "vanished", "failed",    "not_allowed"};
constexpr std::string_view name(Outcome outcome) { return outcome_names[static_cast<std::size_t>(outcome)]; }

struct Owner {
  std::string netns;
  std::string process;    // "": unknown
  std::uint32_t pid = 0;  // 0: unknown
  std::string cgroup;
};

struct Record {
  base::WallTime at{};
  Outcome outcome = Outcome::ended;
  Finding finding;
  census::Socket socket;  // at the time of the decision
  Owner owner;
  bool entry_deleted = false;  // of connection tracking
  int error = 0;               // errno of `failed`
};

std::string json_line(const Record& record);  // both with a newline
std::string text_line(const Record& record);

}  // namespace ebb::reap
