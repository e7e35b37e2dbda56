// The prober inside the router: a reactor and a thread of its own, never a worker's, and what it has to do with the
// rest of the process:
//
//   configuration ── follow() ──▶ legs, what answers must show of it
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

  // All workers have the snapshot. One thread at a time.
  void follow(const routes::Snapshot& snapshot, CanaryLegs legs);
  void stop();

  Facts facts() const;  // any thread; null: there is no canary
  // For the self-audit. post(): any thread; without a canary the task runs at once. read_book(): inside such a task.
  void post(std::move_only_function<void()> task);
  void read_book(observe::Claims& out);

 private:
  struct Running;  // reactor, prober and thread

  std::unique_ptr<Running> begin();
  void move_endpoints(std::uint16_t port);  // on the prober's thread, or before there is one
  void give_endpoints_back(const routes::Model& model);
  void probed(const canary::Leg& leg, const canary::ProbeResult& result, canary::LegState::News news);
  void publish(const canary::Prober& prober);

  Roster& roster_;
  EndpointEvents& endpoint_events_;
  observe::EventLog& events_;
  std::string fingerprint_;   // of the legs that are walked
  mutable std::mutex mutex_;  // guards what follows
  std::optional<routes::CanaryModel> model_;
  Facts facts_;
  canary::Truth told_ = canary::Truth::unknown;  // in the event log
  std::unique_ptr<Running> running_;
};

}  // namespace ebb::control
