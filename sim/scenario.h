// One run, drawn from one seed: topology, climate, population, and either a storm of many troubles at a time or one
// scene of the laboratory. Owns everything in the world. A run has four parts:
//
//   storm    clients come and go, faults happen, the configuration changes
//   settle   faults stop; whatever was begun must come to its end
//   calm     polite clients; every exchange must be answered, in bounded time
//   leave    clients are gone: all connections, timers and blocks of every worker must go too
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/population.h"
#include "sim/scenes.h"
#include "sim/site.h"
#include "sim/storm.h"

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
  // For tests that want one kind of weather, or one scene.
  Scenario(std::uint64_t seed, const Climate& climate, const Size& size, MakeInhabitant make);
  Scenario(std::uint64_t seed, const Scene& scene, Duration time, MakeInhabitant make);
  ~Scenario();

  // True if nothing failed; else world().failure() says what.
  bool run();
  World& world() { return world_; }
  const Ledger& ledger() const { return ledger_; }
  std::string summary() const;
  std::uint64_t spliced_bytes() const;

 private:
  void draw_scenery(const Scene& scene);
  std::uint64_t exchanges_of_a_client();
  void build(const Size& size);
  void draw_mirrors();
  Site::Settings draw_settings();
  ClientScript draw_client(const Climate& climate, std::uint32_t exchanges, bool streams);
  std::uint64_t draw_request(const Climate& climate, const ClientScript& script);
  using Dial = std::function<std::unique_ptr<Line>()>;
  Client& add_client(ClientScript script, Duration start, Dial dial = {});
  void add_household(const Climate& climate, std::uint32_t exchanges, Duration start);
  std::unique_ptr<Line> dial(const Voice& voice, const base::Address& from);
  std::unique_ptr<Line> dial_stream(const Voice& voice, const base::Address& from, std::weak_ptr<Trunk>& trunk);
  void add_leaky_client();
  DatagramClient& add_datagram_client();
  void begin_datagrams();
  void disturb_datagrams();
  void check_datagrams();
  std::size_t leaked() const;

  void storm();
  void settle();
  void calm();
  void leave();
  void check_agreement();

  template <class Condition>
  void run_until(Condition&& done, Duration at_most);
  bool clients_done() const;
  void change_listener();

  World world_;
  Network network_;
  Climate climate_;
  const Scene* scene_ = nullptr;  // null: a storm
  Duration storm_time_;
  MakeInhabitant make_;
  Ledger ledger_;
  Site site_;
  std::optional<Storm> storm_;
  std::optional<Stage> stage_;
  std::vector<std::shared_ptr<Trunk>> trunks_;  // of clients
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<Client*> leaky_clients_;
  std::vector<std::unique_ptr<DatagramClient>> datagram_clients_;
  std::size_t calm_datagrams_from_ = 0;  // clients of the calm phase
  Instant listener_changed_{};
  bool storming_ = true;
};

}  // namespace ebb::sim
