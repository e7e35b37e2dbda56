// What the admin pages are made of: the seam to the rest of the process. app fills it in; tests do so with fakes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/labels.h"
#include "observe/access_log.h"
#include "observe/counters.h"

namespace ebb::admin {

struct Readiness {
  bool ready = false;
  std::string reason;  // for people: "all 3 listeners are open", "draining"
};

struct ConfigStatus {
  struct Refusal {
    base::WallTime at;
    std::string reason;
  };
  std::uint64_t generation = 0;
  base::WallTime applied_at;
  std::optional<Refusal> last_refusal;  // of a file that was not applied; kept until one is
};

// All functions but `counters` are called on the admin thread, must not block, and must be safe against the threads
// that change what they read.
struct Sources {
  std::size_t workers = 0;
  // Runs the task on that worker's thread, soon.
  std::function<void(std::size_t worker, std::move_only_function<void()> task)> post;
  // A copy of that worker's counters with gauges filled in; called on that worker's thread. It may outlive the server
  // by as long as a posted task does.
  std::function<observe::Counters(std::size_t worker)> counters;
  std::function<Readiness()> readiness;
  std::function<ConfigStatus()> config;
  std::function<observe::AccessLog::Losses()> log_losses;  // empty: there is no access log
  const base::Labels* labels = nullptr;
  std::span<const std::string_view> client_states;  // names for Counters::client_connections
  std::span<const std::string_view> backend_states;
  std::string version;
};

}  // namespace ebb::admin
