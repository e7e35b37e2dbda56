#include "sim/receipts.h"

#include <algorithm>
#include <memory>

namespace ebb::sim {

namespace {

constexpr Duration way_max = milliseconds{250};  // until a FIN of the router has come through the slowest link
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
  std::vector<Backend::InHand> in_hand = process.in_hand();
  // The FIN to what is cut off comes when the way is open again, whenever that is.
  std::erase_if(in_hand, [&process](const Backend::InHand& one) { return process.cut_off(one); });
  world_.after(way_max, [this, &process, work = std::move(in_hand)] {
    const auto open = std::ranges::find_if(work, [&](const Backend::InHand& one) {
      return ledger_.find(one.exchange)->outcome == Outcome::pending && process.still_in_hand(one);
    });
    if (open != work.end())
      world_.fail("drained was said while exchange " + std::to_string(open->exchange) + " was in flight");
  });
}

}  // namespace ebb::sim
