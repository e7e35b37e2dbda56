#include "sim/receipts.h"

#include <algorithm>
#include <memory>

namespace ebb::sim {

namespace {

constexpr Duration round_max = milliseconds{10};  // in which a worker closes what it has let go of
constexpr Duration timer_slack = milliseconds{100};

}  // namespace

void Receipts::ask(Request request) {
  const auto missing = std::make_shared<std::size_t>(request.workers.size());
  Backend* process = request.process;
  for (const auto& [reactor, inhabitant] : request.workers) {
    reactor->post([this, inhabitant, process, missing, identity = request.identity, withdrawn = request.withdrawn] {
      inhabitant->when_idle(identity, [this, process, missing, withdrawn] {
        if (--*missing == 0 && !withdrawn()) drained(*process);
      });
    });
  }
  if (request.by == Instant::max()) return;
  world_.at(request.by + timer_slack, [this, missing, withdrawn = std::move(request.withdrawn)] {
    if (*missing > 0 && !withdrawn()) world_.fail("a drain went on beyond its deadline");
  });
}

void Receipts::drained(Backend& process) {
  world_.note("drained", process.address().port());
  world_.after(round_max, [this, &process, before = process.in_hand()] {
    const std::vector<std::uint64_t> now = process.in_hand();
    for (const std::uint64_t exchange : before) {
      const bool pending = ledger_.find(exchange)->outcome == Outcome::pending;
      if (!pending || std::ranges::find(now, exchange) == now.end()) continue;
      world_.fail("drained was said while exchange " + std::to_string(exchange) + " was in flight");
    }
  });
}

}  // namespace ebb::sim
