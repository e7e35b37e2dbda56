// Brings a provider's part to all workers in two phases (Fleet::apply), or refuses it whole and keeps the old
// configuration. One configuration at a time, from any provider's thread; any thread may read the status.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/labels.h"
#include "control/canary_probing.h"
#include "control/desired.h"
#include "control/desired_state.h"
#include "control/endpoint_events.h"
#include "control/fleet.h"
#include "control/materials.h"
#include "control/roster.h"
#include "observe/event_log.h"
#include "wire/tls.h"

namespace ebb::control {

struct RolloutStatus {
  std::uint64_t generation = 0;  // 0: none was applied
  std::string digest;
  base::WallTime applied_at;
  std::vector<std::string> listeners;  // their names
  std::string last_refusal;            // "" if the newest attempt was applied
  base::WallTime refused_at;
};

class Rollout {
 public:
  Rollout(const std::vector<std::string_view>& providers, Fleet& fleet, Roster& roster, EndpointEvents& endpoint_events,
          CanaryProbing& canary, base::Labels& labels, observe::EventLog& events, const base::Clock& clock)
      : desired_(providers),
        fleet_(fleet),
        roster_(roster),
        endpoint_events_(endpoint_events),
        canary_(canary),
        labels_(labels),
        events_(events),
        clock_(clock) {}

  Outcome apply(Desired desired);
  void refuse(const std::string& reason);  // for a part that could not be stated
  RolloutStatus status() const;
  wire::TicketKeys& tickets() { return *tickets_; }

 private:
  struct Built {
    gate::Configuration configuration{};
    CanaryLegs legs{};
    config::Diagnostics problems{};
  };
  Built build(std::string_view provider, routes::Model model);
  Outcome refuse_with(config::Diagnostics problems);
  bool hand_over(gate::Configuration& next, std::string& reason);
  void note(const routes::Snapshot& snapshot);
  void warn_of_expiry(const routes::Model& model, const Materials& materials);

  std::mutex turn_;  // one configuration at a time; guards the members below
  DesiredState desired_;

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
