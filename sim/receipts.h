// Asks the workers to say when they have nothing to do any more with an endpoint that drains, and holds them to it:
// what they say must be true of the endpoint's own connections, and must be said by the deadline of the drain.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "sim/backend.h"
#include "sim/inhabitant.h"
#include "sim/sim_reactor.h"

namespace ebb::sim {

class Receipts {
 public:
  struct Request {
    Backend* process = nullptr;
    std::uint64_t identity = 0;
    Instant by = Instant::max();
    std::function<bool()> withdrawn{};  // it takes work again, or did meanwhile
    std::vector<std::pair<SimReactor*, Inhabitant*>> workers{};
  };

  Receipts(World& world, Ledger& ledger) : world_(world), ledger_(ledger) {}
  void ask(Request request);

 private:
  void drained(Backend& process);

  World& world_;
  Ledger& ledger_;
};

}  // namespace ebb::sim
