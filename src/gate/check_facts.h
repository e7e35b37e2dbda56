// What came of an active check, and what a worker tells of the checks of one endpoint.
#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>

#include "base/cause.h"
#include "base/clock.h"
#include "lifecycle/active_check.h"

namespace ebb::gate {

// clang-format off
//  X(name, passed, HAProxy's word, words)
#define EBB_CHECK_OUTCOMES(X)                                                                 \
  X(none,             false, "INI",     "no check has ended yet")                             \
  X(not_asked,        false, "SOCKERR", "the router had no descriptor or port left to ask")   \
  X(connected,        true,  "L4OK",    "the connection was established")                     \
  X(secured,          true,  "L6OK",    "the TLS handshake was completed")                    \
  X(answered,         true,  "L7OK",    "the answer is a good one")                           \
  X(not_connected,    false, "L4CON",   "the connection was refused, or there is no way")     \
  X(connect_timeout,  false, "L4TOUT",  "no connection was established in time")              \
  X(not_secured,      false, "L6RSP",   "the TLS handshake failed")                           \
  X(secure_timeout,   false, "L6TOUT",  "the TLS handshake was not completed in time")        \
  X(bad_answer,       false, "L7RSP",   "the answer is malformed, or none came")              \
  X(answer_timeout,   false, "L7TOUT",  "no answer came in time")                             \
  X(unwanted_status,  false, "L7STS",   "the answer is not a good one")
// clang-format on

enum class CheckOutcome : std::uint8_t {
#define X(name, passed, code, words) name,
  EBB_CHECK_OUTCOMES(X)
#undef X
};

struct CheckOutcomeFacts {
  std::string_view name;
  bool passed;
  std::string_view code;
  std::string_view words;
};

inline constexpr CheckOutcomeFacts check_outcome_table[] = {
#define X(name, passed, code, words) {#name, passed, code, words},
    EBB_CHECK_OUTCOMES(X)
#undef X
};
constexpr const CheckOutcomeFacts& facts(CheckOutcome outcome) {
  return check_outcome_table[static_cast<std::size_t>(outcome)];
}

constexpr bool timed_out(CheckOutcome outcome) {
  return outcome == CheckOutcome::connect_timeout || outcome == CheckOutcome::secure_timeout ||
         outcome == CheckOutcome::answer_timeout;
}

struct CheckResult {
  CheckOutcome outcome = CheckOutcome::none;
  std::uint16_t status = 0;  // of the answer; 0: none
  base::Cause cause = base::Cause::backend_check_failed;
};

struct CheckFacts {
  CheckResult last;
  base::Duration taken{};  // by the last
  base::WallTime at{};     // when the last ended
  lifecycle::CheckLife::State state = lifecycle::CheckLife::first;
  std::uint32_t in_a_row = 0;  // with the same result
  std::uint32_t fall = 0;
  std::uint32_t rise = 0;
  std::uint64_t passed = 0;
  std::uint64_t failed = 0;
  std::uint64_t falls = 0;
};

}  // namespace ebb::gate
