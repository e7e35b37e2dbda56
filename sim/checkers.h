// What must hold of a worker whatever happens to it. The Ledger judges exchanges; these judge the worker's books.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "sim/inhabitant.h"
#include "sim/sim_reactor.h"

namespace ebb::sim {

class WorkerChecker {
 public:
  WorkerChecker(World& world, SimReactor& reactor, Inhabitant& inhabitant)
      : world_(world), reactor_(reactor), inhabitant_(inhabitant) {}

  // So many idle connections may be kept to an endpoint of the backend.
  void limit_idle(const std::string& backend, std::uint32_t most) { idle_max_[backend] = most; }
  // Clients may have so many exchanges at a time on one connection.
  void allow_streams(std::size_t most) { exchanges_per_client_ = most; }
  // After every step; the costly part only after some rounds of the worker.
  void after_step();
  // Now: every connection is somebody's, and every live thing has a deadline.
  void check_books();
  // All clients have left and all time-outs have passed: nothing may be left but the listed endpoints.
  void check_empty(std::size_t listed);

 private:
  void check_endpoints();
  void check_causes();
  void expect(bool holds, const char* what, std::uint64_t found);

  World& world_;
  SimReactor& reactor_;
  Inhabitant& inhabitant_;
  std::size_t exchanges_per_client_ = 1;
  std::uint64_t rounds_seen_ = 0;
  std::uint64_t audits_ = 0;
  std::map<std::string, std::uint32_t> idle_max_;  // by backend
  // Endpoints that may get no work, as they were at the last look.
  struct Shunned {
    base::WallTime since;
    std::uint64_t connects;
    std::uint32_t in_flight;
  };
  std::map<std::uint64_t, Shunned> shunned_;  // by identity
};

}  // namespace ebb::sim
