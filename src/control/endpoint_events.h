// Lines of the event log about endpoints: changes of health, and drains of leaving endpoints from their start until no
// worker has work there. Owned by app; outlives the fleet.
//
//   endpoint_health      from the endpoint's home worker, once for each verdict
//   endpoint_draining    from the control plane's lists
//   endpoint_drained     all workers are idle, confirmed by a second look
//   endpoint_ready       it takes work again
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "control/fleet.h"
#include "control/roster.h"
#include "observe/event_outbox.h"

namespace ebb::control {

class EndpointEvents {
 public:
  EndpointEvents(observe::EventOutbox& outbox, const base::Clock& clock) : outbox_(outbox), clock_(clock) {}

  void follow(Fleet& fleet) { fleet_ = &fleet; }  // call before the first list

  void on_health_change(const gate::HealthChange& change);  // any thread
  void on_relief(const gate::SilenceRelief& relief);        // any thread
  // Called after the workers, in the same order, under the roster's lock. Never blocks.
  void on_list(const SharedEndpointList& list);
  void on_lists(const std::vector<SharedEndpointList>& lists);  // of a whole configuration
  // Backends whose endpoints move all the time: their drains would flood the log.
  void leave_out(std::vector<std::string> backends);

 private:
  struct Known {
    std::string backend;
    gate::ListedEndpoint endpoint;
    std::string_view leaves{};  // "leaving", "drain", "maint" or "gone"; "": it stays
    base::Instant draining_since{};
    bool drained = false;
    bool watched = false;
  };
  using Endpoints = std::unordered_map<std::uint64_t, Known>;  // by identity

  void take(const gate::EndpointList& list);
  void change(Known& known, std::string_view leaves);
  void watch(std::uint64_t identity, Known& known);
  void all_idle(std::uint64_t identity);
  void confirmed(std::uint64_t identity, bool busy);
  void put(observe::EventLog::Level level, std::string_view event, const Known& known,
           std::vector<observe::EventOutbox::Field> more = {});

  observe::EventOutbox& outbox_;
  const base::Clock& clock_;
  Fleet* fleet_ = nullptr;
  std::mutex mutex_;  // guards the members below
  Endpoints known_;
  std::unordered_map<std::string, std::vector<std::uint64_t>> listed_;  // by backend
  std::vector<std::string> left_out_;
};

}  // namespace ebb::control
