#include "sim/checkers.h"

#include <string>

namespace ebb::sim {

namespace {

constexpr std::uint64_t rounds_between_audits = 8;
constexpr std::uint64_t audits_between_looks = 8;  // at endpoints

bool may_get_work(const gate::EndpointFacts& facts) {
  // Its own clients may stay with one that drains.
  const lifecycle::Wish wish = facts.wish == lifecycle::Wish::drain ? lifecycle::Wish::ready : facts.wish;
  return lifecycle::standing({facts.membership, wish, facts.health, facts.why}) != lifecycle::Standing::unavailable;
}

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
  expect(audit.flaws == 0, "each socket is its owner's, and each connection's socket is open", audit.flaws);
  expect(audit.without_deadline == 0, "everything live has a deadline", audit.without_deadline);
  expect(audit.missing_transitions == 0, "no machine met a pair that its table lacks", audit.missing_transitions);
  expect(audit.lost_handles == 0, "nothing that had to be there was gone", audit.lost_handles);
  const std::size_t of_clients = audit.clients * exchanges_per_client_;
  expect(audit.exchanges <= of_clients + audit.witnesses + audit.mirrors, "each exchange has a client",
         audit.exchanges);
  if (inhabitant_.worker() != nullptr && ++audits_ % audits_between_looks == 0) check_endpoints();
}

// One that was found dead, or has left, gets nothing new.
void WorkerChecker::check_endpoints() {
  std::map<std::uint64_t, Shunned> now;
  for (const gate::EndpointFacts& facts : inhabitant_.endpoint_facts()) {
    expect(facts.idle <= facts.connections, "idle connections are among the open ones", facts.idle);
    expect(facts.idle <= idle_max_[facts.backend], "no more connections are idle than may be", facts.idle);
    if (may_get_work(facts)) continue;
    const Shunned shunned{facts.since, facts.tally.connects, facts.in_flight.total()};
    now[facts.identity] = shunned;
    const auto before = shunned_.find(facts.identity);
    if (before == shunned_.end() || before->second.since != shunned.since) continue;
    expect(shunned.connects == before->second.connects, "no connection is opened to an endpoint that is shunned",
           shunned.connects);
    expect(shunned.in_flight <= before->second.in_flight, "a shunned endpoint gets no work", shunned.in_flight);
  }
  shunned_ = std::move(now);
}

// Whatever was opened was closed, and for a reason.
void WorkerChecker::check_causes() {
  const observe::Counters counters = inhabitant_.collect();
  std::uint64_t closed[4] = {};
  for (std::size_t side = 0; side < std::size(closed); ++side) {
    for (const std::uint64_t count : counters.closed[side]) closed[side] += count;
    const std::uint64_t bugs = counters.closed[side][static_cast<std::size_t>(base::Cause::internal)];
    expect(bugs == 0, "nothing ends because of a bug", bugs);
  }
  const std::uint64_t cut =
      counters
          .closed[static_cast<std::size_t>(base::Side::client)][static_cast<std::size_t>(base::Cause::backend_silent)];
  expect(cut == 0, "no response or tunnel that had begun is ended by silence alone", cut);
  const std::uint64_t of_clients = closed[static_cast<std::size_t>(base::Side::client)];
  const std::uint64_t of_backends = closed[static_cast<std::size_t>(base::Side::backend)];
  expect(of_clients == counters.client_accepted, "each client connection ends with a cause",
         counters.client_accepted - of_clients);
  expect(of_backends == counters.backend_opened, "each backend connection ends with a cause",
         counters.backend_opened - of_backends);
  expect(counters.requests_held == 0, "nobody waits in a queue", counters.requests_held);
}

void WorkerChecker::check_empty(std::size_t listed) {
  const gate::Audit audit = inhabitant_.audit();
  expect(audit.clients == 0, "no client connection is left", audit.clients);
  expect(audit.exchanges == 0, "no exchange is left", audit.exchanges);
  expect(audit.mirrors == 0, "no mirror is left", audit.mirrors);
  expect(audit.backends == 0, "no backend connection is left", audit.backends);
  expect(reactor_.sockets() == 0, "no socket is left", reactor_.sockets());
  expect(audit.flows == 0, "no flow is left", audit.flows);
  expect(reactor_.datagram_sockets() <= 1, "no socket of a flow is left", reactor_.datagram_sockets());
  expect(audit.blocks_in_use == 0, "no block is left in use", audit.blocks_in_use);
  expect(!reactor_.timer_armed(), "no timer is left armed", 1);
  expect(audit.snapshots <= 1, "only the current snapshot is left", audit.snapshots);
  if (inhabitant_.worker() == nullptr) return;
  expect(audit.endpoints == listed, "only the listed endpoints are left", audit.endpoints);
  expect(audit.probes == 0, "no probe is left", audit.probes);
  check_causes();
}

}  // namespace ebb::sim
