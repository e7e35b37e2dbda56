// The reaper's actions since its start, and its present state, as metrics.
#pragma once

#include <array>
#include <cstdint>

#include "observe/metric_writer.h"
#include "reap/record.h"

namespace ebb::reap {

struct Totals {
  std::array<std::array<std::uint64_t, ground_names.size()>, outcome_names.size()> outcomes{};
  std::uint64_t looks = 0;
  std::uint64_t looks_failed = 0;
  std::uint64_t look_ns = 0;         // of all looks
  std::uint64_t sockets = 0;         // in the last look
  std::uint64_t found = 0;           // with grounds, in the last look
  std::uint64_t policy_refused = 0;  // invalid files
  std::uint64_t truth_refused = 0;
  std::array<std::uint64_t, 3> endpoints{};  // by presence
  bool acting = false;

  std::uint64_t& of(Outcome outcome, Ground ground) {
    return outcomes[static_cast<std::size_t>(outcome)][static_cast<std::size_t>(ground)];
  }
};

void write_metrics(observe::MetricWriter& writer, const Totals& totals);

}  // namespace ebb::reap
