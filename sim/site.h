// The router and its endpoints: workers, the processes behind each backend, and the control plane that tells the former
// of the latter. Owned by the Scenario; processes, once there, stay to the end of the run even if they ended.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gate/endpoint_list.h"
#include "sim/backend.h"
#include "sim/checkers.h"
#include "sim/datagrams.h"
#include "sim/inhabitant.h"
#include "sim/receipts.h"
#include "sim/sim_reactor.h"

namespace ebb::sim {

// What the control plane says of an endpoint.
enum class Standing : std::uint8_t { ready, leaving, drain, maint, absent };

struct Endpoint {
  std::unique_ptr<Backend> process;
  std::unique_ptr<DatagramEndpoint> datagrams{};  // at the same address
  std::string name;
  std::uint32_t weight = 1;
  Standing standing = Standing::ready;
  Instant draining_since = Instant::max();
};

struct Group {
  routes::BackendModel model;
  Duration attempt_timeout{};  // of its route; 0: none
  BackendHabits habits;
  Voice voice;  // of its endpoints
  std::vector<Endpoint> endpoints;
  std::string mirror;  // the backend that gets copies of its requests; "": none
};

class Site {
 public:
  struct Settings {
    routes::Timeouts timeouts;
    routes::Limits limits;
    reactor::SocketLimits sockets;
    base::Address listener;
    base::Address secure_listener{};  // invalid: none
    bool streams = false;             // some clients speak HTTP/2
    base::Address datagrams{};        // of a listener of datagrams for the first backend; invalid: none
  };

  Site(World& world, Network& network, Ledger& ledger) : world_(world), network_(network), ledger_(ledger) {}

  void add_group(routes::BackendModel model, const BackendHabits& habits, std::uint32_t endpoints,
                 const Voice& voice = {});
  // The last group: all others mirror their requests to it.
  void add_mirror(routes::BackendModel model, const BackendHabits& habits, std::uint32_t endpoints, const Voice& voice);
  void mirror_to_itself(std::size_t group);
  // Groups that clients ask: all but the mirror.
  std::uint32_t services() const { return static_cast<std::uint32_t>(groups_.size() - (mirror_ ? 1 : 0)); }
  DatagramNetwork& datagram_network() { return datagram_network_; }
  DatagramLedger& datagram_ledger() { return datagram_ledger_; }
  TlsSite& tls();  // made when it is first asked for
  void start(const Settings& settings, std::uint32_t workers, const MakeInhabitant& make);

  std::vector<Group>& groups() { return groups_; }
  const std::vector<Group>& groups() const { return groups_; }
  const Settings& settings() const { return settings_; }
  void move_listener();

  // A new process that serves and that nobody knows of yet; returns its index in the group.
  std::size_t spawn(std::size_t group);
  // Decides on an endpoint; the router hears of it by the next tell() or apply().
  void set_standing(std::size_t group, std::size_t endpoint, Standing standing);
  void tell(std::size_t group);  // the endpoints of one backend
  void apply();                  // a whole configuration

  struct Place {
    std::unique_ptr<SimReactor> reactor;
    std::unique_ptr<Inhabitant> inhabitant;
    std::unique_ptr<WorkerChecker> checker;
  };
  std::vector<Place>& workers() { return workers_; }
  const std::vector<Place>& workers() const { return workers_; }
  std::size_t listed() const;  // endpoints

 private:
  gate::Siblings siblings_of(std::size_t self, std::size_t count);
  routes::Model model() const;
  gate::Configuration configuration(std::shared_ptr<const routes::Snapshot> snapshot);
  gate::EndpointList list(const Group& group);
  void listen_to_datagrams(Endpoint& endpoint);
  void begin_drain(const Group& group, Endpoint& endpoint);
  void ask_for_receipts();

  World& world_;
  Network& network_;
  Ledger& ledger_;
  base::Labels labels_;
  DatagramNetwork datagram_network_{world_};
  DatagramLedger datagram_ledger_{world_};
  std::unique_ptr<TlsSite> tls_;
  Settings settings_;
  std::vector<Group> groups_;
  bool mirror_ = false;                 // the last group is one
  Receipts receipts_{world_, ledger_};  // workers call it, to their last breath
  std::vector<Place> workers_;
  std::vector<std::pair<std::size_t, std::size_t>> leaving_;  // endpoints whose receipts are to be asked for
  std::uint64_t generation_ = 0;
};

}  // namespace ebb::sim
