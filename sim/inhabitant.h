// What lives in the world and is tested by it: one per simulated worker. The gate is the usual one; tests bring
// others, among them broken ones that the checkers must catch.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/labels.h"
#include "gate/worker.h"
#include "reactor/reactor.h"
#include "routes/snapshot.h"

namespace ebb::sim {

class Inhabitant {
 public:
  virtual ~Inhabitant() = default;
  virtual reactor::Handler& handler() = 0;
  virtual void apply(gate::Configuration configuration) = 0;
  virtual void drain() = 0;
  virtual gate::Audit audit() = 0;
  virtual gate::Worker* worker() { return nullptr; }  // null: it is none, and what follows is not asked of it
  virtual void change_endpoints(const gate::EndpointList& list) { worker()->change_endpoints(list); }
  virtual std::vector<gate::EndpointFacts> endpoint_facts() { return worker()->endpoint_facts(); }
  virtual observe::Counters collect() { return worker()->collect(); }
  virtual void when_idle(std::uint64_t identity, std::move_only_function<void()> callback) {
    worker()->when_idle(identity, std::move(callback));
  }
};

using MakeInhabitant = std::function<std::unique_ptr<Inhabitant>(reactor::Reactor&, base::Labels&, gate::Siblings)>;

// The real data plane.
std::unique_ptr<Inhabitant> make_gate(reactor::Reactor& reactor, const base::Labels& labels, gate::Siblings siblings);

}  // namespace ebb::sim
