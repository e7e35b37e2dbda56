// What must hold of a worker whatever happens to it. The Ledger judges exchanges; these judge the worker's books.
#pragma once

#include <cstdint>

#include "sim/inhabitant.h"
#include "sim/sim_reactor.h"

namespace ebb::sim {

class WorkerChecker {
 public:
  WorkerChecker(World& world, SimReactor& reactor, Inhabitant& inhabitant)
      : world_(world), reactor_(reactor), inhabitant_(inhabitant) {}

  // After every step; the costly part only after some rounds of the worker.
  void after_step();
  // Now: every connection is somebody's, and every live thing has a deadline.
  void check_books();
  // All clients have left and all time-outs have passed: nothing may be left.
  void check_empty();

 private:
  void expect(bool holds, const char* what, std::uint64_t found);

  World& world_;
  SimReactor& reactor_;
  Inhabitant& inhabitant_;
  std::uint64_t rounds_seen_ = 0;
};

}  // namespace ebb::sim
