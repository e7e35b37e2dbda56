// Brings a configuration from its file into all workers, or refuses it whole and leaves the old one in place. Used by
// one thread at a time; the status may be read by any.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/labels.h"
#include "config/load.h"
#include "control/canary_probing.h"
#include "control/endpoint_events.h"
#include "control/fleet.h"
#include "control/roster.h"
#include "observe/event_log.h"
#include "wire/tls.h"

namespace ebb::control {

struct RolloutStatus {
  std::uint64_t generation = 0;  // 0: none was ever applied
  std::string digest;
  base::WallTime applied_at;
  std::vector<std::string> listeners;  // their names
  std::string last_refusal;            // "" if the newest attempt was applied
  base::WallTime refused_at;
};

class Rollout {
 public:
  Rollout(Fleet& fleet, Roster& roster, EndpointEvents& endpoint_events, CanaryProbing& canary, base::Labels& labels,
          observe::EventLog& events, const base::Clock& clock)
      : fleet_(fleet),
        roster_(roster),
        endpoint_events_(endpoint_events),
        canary_(canary),
        labels_(labels),
        events_(events),
        clock_(clock) {}

  // `still_current` is asked once all files are read: if it says no, nothing changes and nothing is said, because
  // they were overtaken.
  bool apply(config::Loaded loaded, const std::function<bool()>& still_current = nullptr);
  void refuse(const std::string& reason);
  RolloutStatus status() const;
  wire::TicketKeys& tickets() { return *tickets_; }

 private:
  bool build(config::Loaded& loaded, gate::Configuration& out, CanaryLegs& legs, std::string& reason);
  void warn_of_expiry(const routes::ListenerModel& listener, const wire::ServerContext& context);

  Fleet& fleet_;
  Roster& roster_;
  EndpointEvents& endpoint_events_;
  CanaryProbing& canary_;
  base::Labels& labels_;
  observe::EventLog& events_;
  const base::Clock& clock_;
  std::shared_ptr<wire::TicketKeys> tickets_ = std::make_shared<wire::TicketKeys>();
  mutable std::mutex mutex_;
  RolloutStatus status_;
};

}  // namespace ebb::control
