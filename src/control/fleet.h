// All workers of the process: starts their threads, distributes configurations and collects counters. For the control
// plane's threads; talks to workers only by message.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gate/client_limits.h"
#include "gate/worker.h"

namespace ebb::control {

struct FleetOptions {
  std::uint32_t workers = 1;
  reactor::Kind io = reactor::Kind::automatic;
  reactor::SocketLimits socket_limits;
  observe::AccessLog* access_log = nullptr;                           // outlives the fleet
  std::uint32_t clients_max = UINT32_MAX;                             // per process
  std::function<void(const gate::HealthChange&)> on_health_change{};  // on any worker's thread; must not block
  std::function<void(const gate::SilenceRelief&)> on_relief{};        // the same
};

class Fleet {
 public:
  // The error is a sentence.
  static std::unique_ptr<Fleet> start(const FleetOptions& options, const base::Labels& labels, std::string& error);
  ~Fleet();

  const char* io_name() const;
  std::size_t size() const { return members_.size(); }

  // Waits until every worker has the configuration, or none. Each worker prepares first. If one cannot (a listener that
  // does not bind, no descriptor left), nothing changes, and the result has the reasons.
  std::vector<std::string> apply(const gate::Configuration& configuration);

  // Sends the list to every worker, in the order of these calls and of apply().
  void change_endpoints(const std::shared_ptr<const gate::EndpointList>& list);

  // Runs the task on that worker's thread, soon; never once the fleet has stopped.
  void post(std::size_t worker, std::move_only_function<void()> task) {
    members_[worker].reactor->post(std::move(task));
  }
  // For tasks on that worker's thread.
  gate::Worker& worker(std::size_t index) { return *members_[index].worker; }

  // Refuses new connections, lets exchanges end, cuts the rest after the grace.
  void stop(base::Duration grace);

 private:
  struct Member {
    std::unique_ptr<reactor::Reactor> reactor;
    std::unique_ptr<gate::Worker> worker;
    std::thread thread;
  };

  struct Bound {
    base::Address address;
    int type;  // SOCK_STREAM or SOCK_DGRAM
    friend bool operator==(const Bound&, const Bound&) = default;
  };

  Fleet();
  gate::Siblings siblings_of(std::size_t self, std::size_t count);
  void ask_all(const std::function<void(gate::Worker&)>& question);
  std::vector<std::string> try_addresses(const routes::Snapshot& next, std::vector<Bound>& wanted);
  int try_address(const base::Address& address, int type);

  gate::ClientLimits client_limits_;  // shared by the members
  std::vector<Member> members_;
  std::vector<Bound> bound_;  // listeners of the last configuration
  bool stopped_ = false;
};

}  // namespace ebb::control
