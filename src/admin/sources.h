// The data sources of the admin pages: the interface to the rest of the process. app fills it in; tests use fakes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/labels.h"
#include "canary/prober.h"
#include "control/roster.h"
#include "gate/connection_facts.h"
#include "gate/endpoint_facts.h"
#include "observe/access_log.h"
#include "observe/audit.h"
#include "observe/counters.h"

namespace ebb::admin {

struct Readiness {
  bool ready = false;
  std::string reason;  // for the operator: "all 3 listeners are open", "draining"
};

struct ConfigStatus {
  struct Refusal {
    base::WallTime at;
    std::string reason;
  };
  std::uint64_t generation = 0;
  std::string digest;
  base::WallTime applied_at;
  std::optional<Refusal> last_refusal;  // of a file that was refused; kept until a file is applied
};

// All functions but those of a worker run on the admin thread. They must not block, and must be safe against the
// threads that change their data.
struct Sources {
  std::size_t workers = 0;
  // Runs the task on that worker's thread, soon.
  std::function<void(std::size_t worker, std::move_only_function<void()> task)> post;
  // A copy of that worker's counters with current gauges; called on that worker's thread. It may outlive the server by
  // as long as a posted task does.
  std::function<observe::Counters(std::size_t worker)> counters;
  std::function<Readiness()> readiness;
  std::function<ConfigStatus()> config;
  std::function<observe::AccessLog::Losses()> log_losses;              // empty: no access log
  std::function<observe::AuditReport()> audit;                         // empty: no audit
  std::function<std::shared_ptr<const canary::ProberFacts>()> canary;  // empty, or null: no canary
  control::Roster* roster = nullptr;
  // From here to when_idle: called on that worker's thread.
  std::function<std::vector<gate::ConnectionFacts>(std::size_t worker, const gate::ConnectionFilter&)> connections;
  std::function<bool(std::size_t worker, base::Handle connection)> end_connection;
  std::function<void(std::size_t worker, std::uint64_t identity)> end_work;  // of that endpoint
  std::function<std::vector<gate::EndpointFacts>(std::size_t worker)> endpoints;
  std::function<std::vector<gate::BackendFacts>(std::size_t worker)> backends;
  std::function<gate::InFlight(std::size_t worker, std::uint64_t identity)> in_flight;
  // Reports once, when nothing on the worker uses the endpoint; at once if it is unused.
  std::function<void(std::size_t worker, std::uint64_t identity, std::move_only_function<void()> tell)> when_idle;
  const base::Labels* labels = nullptr;
  std::function<std::vector<std::string>()> listeners;  // names, of the current configuration
  std::span<const std::string_view> client_states;      // names for Counters::client_connections
  std::span<const std::string_view> backend_states;
  std::span<const std::string_view> health_states;
  std::string version;
};

}  // namespace ebb::admin
