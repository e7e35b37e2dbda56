#include "sim/checkers.h"

#include <string>

namespace ebb::sim {

namespace {

constexpr std::uint64_t rounds_between_audits = 8;

}  // namespace

void WorkerChecker::expect(bool holds, const char* what, std::uint64_t found) {
  if (!holds) world_.fail(std::string("checker: ") + what + " (" + std::to_string(found) + ")");
}

void WorkerChecker::after_step() {
  expect(reactor_.opened() == reactor_.sockets() + reactor_.closed(), "opened = live + closed", reactor_.sockets());
  if (reactor_.rounds() < rounds_seen_ + rounds_between_audits) return;
  rounds_seen_ = reactor_.rounds();
  check_books();
}

void WorkerChecker::check_books() {
  const gate::Audit audit = inhabitant_.audit();
  const std::size_t owned = audit.clients + audit.backends + audit.probes;
  expect(owned == reactor_.sockets(), "each socket is one connection's", reactor_.sockets() - owned);
  expect(audit.without_deadline == 0, "everything live has a deadline", audit.without_deadline);
  expect(audit.missing_transitions == 0, "no machine met a pair that its table lacks", audit.missing_transitions);
  expect(audit.exchanges <= audit.clients, "each exchange has a client", audit.exchanges);
}

void WorkerChecker::check_empty() {
  const gate::Audit audit = inhabitant_.audit();
  expect(audit.clients == 0, "no client connection is left", audit.clients);
  expect(audit.exchanges == 0, "no exchange is left", audit.exchanges);
  expect(audit.backends == 0, "no backend connection is left", audit.backends);
  expect(reactor_.sockets() == 0, "no socket is left", reactor_.sockets());
  expect(audit.blocks_in_use == 0, "no block is left in use", audit.blocks_in_use);
  expect(!reactor_.timer_armed(), "no timer is left armed", 1);
  expect(audit.snapshots <= 1, "only the current snapshot is left", audit.snapshots);
}

}  // namespace ebb::sim
