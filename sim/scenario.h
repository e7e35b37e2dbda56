// One run, drawn from one seed: topology, climate, population, changes of the configuration. Owns everything in the
// world. A run has four parts:
//
//   storm    clients come and go, faults happen, the configuration changes
//   settle   faults stop; whatever was begun must come to its end
//   calm     polite clients; every exchange must be answered, in bounded time
//   leave    clients are gone: all connections, timers and blocks of every worker must go too
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/checkers.h"
#include "sim/inhabitant.h"
#include "sim/population.h"
#include "sim/sim_reactor.h"

namespace ebb::sim {

class Scenario {
 public:
  struct Size {
    std::uint32_t workers = 1;
    std::uint32_t backends = 1;
    std::uint32_t endpoints = 1;  // of each backend
    std::uint32_t clients = 5;
  };

  Scenario(std::uint64_t seed, MakeInhabitant make);
  // For tests that want one kind of weather.
  Scenario(std::uint64_t seed, const Climate& climate, const Size& size, MakeInhabitant make);
  ~Scenario();

  // True if nothing failed; else world().failure() says what.
  bool run();
  World& world() { return world_; }
  const Ledger& ledger() const { return ledger_; }
  std::string summary() const;
  std::uint64_t spliced_bytes() const;

 private:
  // What the configuration says of an endpoint.
  enum class Standing : std::uint8_t { ready, drain, maint, absent };
  struct Group {
    routes::BackendModel model;
    std::vector<std::unique_ptr<Backend>> members;
    std::vector<Standing> standings;  // by member
  };
  struct Member {
    std::unique_ptr<SimReactor> reactor;
    std::unique_ptr<Inhabitant> inhabitant;
    std::unique_ptr<WorkerChecker> checker;
  };

  void build(const Size& size);
  void add_client(const Climate& climate, std::uint32_t exchanges, Duration start);
  void apply_configuration();
  routes::Model model() const;

  void storm();
  void settle();
  void calm();
  void leave();

  void schedule_faults();
  void strike_path();
  void strike_host();
  void starve();
  void change_endpoints();
  void change_listener();

  template <class Condition>
  void run_until(Condition&& done, Duration at_most);
  bool clients_done() const;

  World world_;
  Network network_;
  base::Labels labels_;
  Climate climate_;
  MakeInhabitant make_;
  routes::Timeouts timeouts_;
  reactor::SocketLimits limits_;
  std::uint64_t body_bytes_max_ = 0;  // 0: no limit
  Ledger ledger_;
  std::vector<Group> groups_;
  std::vector<Member> members_;
  std::vector<std::unique_ptr<Client>> clients_;
  base::Address listener_;
  Instant listener_changed_{};
  std::uint64_t generation_ = 0;
  Instant storm_end_{};
  bool storming_ = true;
};

}  // namespace ebb::sim
