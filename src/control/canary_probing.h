// The prober inside the router: its own reactor and thread, never a worker's, and its links to the rest of the process:
//
//   configuration ── follow() ──▶ legs, and what their answers must show
//   rotation      ──▶ roster: the endpoints of the canary's backends move to the other port, as by an operator
//   turns         ──▶ event log      facts ──▶ admin pages      sockets ──▶ self-audit
//
// Owned by app. Without a `canary` section there is neither thread nor reactor.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "canary/prober.h"
#include "control/canary_legs.h"
#include "control/endpoint_events.h"
#include "control/roster.h"
#include "observe/audit.h"
#include "observe/event_log.h"
#include "routes/snapshot.h"

namespace ebb::control {

class CanaryProbing {
 public:
  using Facts = std::shared_ptr<const canary::ProberFacts>;

  CanaryProbing(Roster& roster, EndpointEvents& endpoint_events, observe::EventLog& events);
  ~CanaryProbing();

  // Call when all workers have the snapshot. One thread at a time.
  void follow(const routes::Snapshot& snapshot, CanaryLegs legs);
  void stop();

  Facts facts() const;  // any thread; null: no canary
  // For the self-audit. post(): any thread; without a canary the task runs at once. read_book(): inside such a task.
  void post(std::move_only_function<void()> task);
  void read_book(observe::Claims& out);

 private:
  struct Running;  // reactor, prober and thread

  std::unique_ptr<Running> begin();
  void move_endpoints(std::uint16_t port);  // on the prober's thread, or before it starts
  void give_endpoints_back(const routes::Model& model);
  void probed(const canary::Leg& leg, const canary::ProbeResult& result, canary::LegState::News news);
  void publish(const canary::Prober& prober);

  Roster& roster_;
  EndpointEvents& endpoint_events_;
  observe::EventLog& events_;
  std::string fingerprint_;   // of the current legs
  mutable std::mutex mutex_;  // guards the members below
  std::optional<routes::CanaryModel> model_;
  Facts facts_;
  canary::Truth told_ = canary::Truth::unknown;  // last state in the event log
  std::unique_ptr<Running> running_;
};

}  // namespace ebb::control
