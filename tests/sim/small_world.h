// A world that a test sets up by hand: one backend behind one worker or several, links of 100 us, and clients that ask
// what the test says, when it says. The Ledger and the checkers judge as always.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/client.h"
#include "sim/site.h"
#include "sim/trunk.h"

namespace ebb::sim {

class SmallWorld {
 public:
  SmallWorld(routes::BackendModel model, std::uint32_t endpoints, const routes::Timeouts& timeouts = {},
             std::uint32_t workers = 1, std::uint64_t seed = 1, std::optional<routes::BackendProtocol> over_tls = {})
      : world{seed} {
    network.set_link({});
    model.name = "b0";
    Voice voice;
    if (over_tls) voice = {.tls = &site.tls(), .protocol = *over_tls};
    site.add_group(std::move(model), {}, endpoints, voice);
    site.start({.timeouts = timeouts, .limits = {}, .sockets = {}, .listener = *base::Address::parse("10.0.0.1:8080")},
               workers, make_gate);
  }

  // Asks one after another, from a client of its own.
  void ask(Duration at, std::vector<Exchange> exchanges, ClientScript script = {},
           std::function<std::unique_ptr<Line>()> dial = {}) {
    const std::size_t number = clients_.size();
    script.from = *base::Address::parse("10." + std::to_string(200 + number / 250) + "." +
                                        std::to_string(number % 250) + ".1:1000");
    script.idle_limit = site.settings().timeouts.client_idle;
    for (Exchange& exchange : exchanges) script.exchanges.push_back(ledger.add(std::move(exchange)).id);
    clients_.push_back(std::make_unique<Client>(
        Client::Surroundings{world, network, ledger, [this] { return site.settings().listener; }, [] { return true; },
                             true, std::move(dial)},
        std::move(script)));
    world.at(Instant{at}, [client = clients_.back().get()] { client->start(); });
  }
  // Asks on a stream of a connection that all share that ask so.
  void ask_on_trunk(Duration at, std::vector<Exchange> exchanges, ClientScript script = {}) {
    for (Site::Place& each : site.workers()) each.checker->allow_streams(128);
    ask(at, std::move(exchanges), script, [this] {
      if (trunk == nullptr || !trunk->takes_streams()) {
        auto wire = std::make_unique<Wire>(network);
        wire->connect(*base::Address::parse("10.199.0.1:1000"), site.settings().listener);
        trunk = std::make_shared<Trunk>(world, Trunk::Role::client, std::move(wire), manners, Trunk::Told{});
        trunk->begin();
      }
      return trunk->open();
    });
  }
  void at(Duration when, World::Task task) { world.at(Instant{when}, std::move(task)); }
  // Until that moment, or until something fails.
  void run(Duration until) {
    bool reached = false;
    world.at(Instant{until}, [&reached] { reached = true; });
    while (!reached && !world.failed()) {
      world.step();
      for (Site::Place& each : site.workers()) each.checker->after_step();
    }
  }

  Site::Place& place() { return site.workers().front(); }
  Backend& process(std::size_t index) { return *site.groups().front().endpoints[index].process; }
  gate::EndpointFacts facts(std::size_t index) {
    const std::string& name = site.groups().front().endpoints[index].name;
    for (gate::EndpointFacts& one : place().inhabitant->endpoint_facts())
      if (one.name == name) return one;
    return {};
  }
  // By all workers.
  std::uint64_t verdicts(lifecycle::Health health, base::Cause cause) {
    std::uint64_t sum = 0;
    for (Site::Place& each : site.workers())
      sum += each.inhabitant->collect().verdicts[static_cast<std::size_t>(health)][static_cast<std::size_t>(cause)];
    return sum;
  }
  std::uint64_t retries(base::Cause cause) {
    return place().inhabitant->collect().retries[static_cast<std::size_t>(cause)];
  }

  World world;
  Network network{world};
  Ledger ledger{world};
  Site site{world, network, ledger};
  H2Manners manners{.keeps = seconds{100}};
  std::shared_ptr<Trunk> trunk;

 private:
  std::vector<std::unique_ptr<Client>> clients_;
};

}  // namespace ebb::sim
