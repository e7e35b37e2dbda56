// All metrics as text. docs/metrics.md lists them; a test compares the two.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/labels.h"
#include "observe/access_log.h"
#include "observe/audit.h"
#include "observe/counters.h"
#include "observe/metric_writer.h"
#include "observe/process_facts.h"

namespace ebb::observe {

struct Scrape {
  const Counters& counters;  // the sum over all workers that replied
  const base::Labels& labels;
  // Names of the states that index Counters::client_connections and backend_connections.
  std::span<const std::string_view> client_states;
  std::span<const std::string_view> backend_states;
  std::span<const std::string_view> health_states;
  std::uint64_t workers = 0;
  std::uint64_t workers_silent = 0;  // did not reply in time: their numbers are missing
  AccessLog::Losses log_losses;
  AuditReport audit{};
  ProcessFacts process;
  std::string_view version;
  std::function<void(MetricWriter&)> more{};  // families of rooms in higher layers
};

// Appends. The order of families and samples depends on names only.
void write_exposition(const Scrape& scrape, MetricFormat format, std::string& out);

}  // namespace ebb::observe
