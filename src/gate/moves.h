// Exchanges that leave an endpoint before it has failed them: it does not answer the connection attempt, or it answers
// nothing, or its time is over; and those whose trial of a silent one has failed.
//
// Only requests that can be repeated elsewhere leave for silence. That an endpoint says nothing never ends a request:
// slow is not dead (docs/decisions/0013-slow-is-not-dead.md).
//
// Before: gate/deadlines, gate/health, gate/endpoints. Next: gate/attempts.
#pragma once

#include <span>
#include <vector>

#include "gate/exchange.h"
#include "gate/exchanges.h"
#include "gate/health.h"

namespace ebb::gate {

class Moves {
 public:
  explicit Moves(Core& core) : core_(core) {}

  // No answer to the trial came in time.
  void fail_trial(Exchange& exchange);
  // The connection attempt is not answered. It goes on without the exchange, for others.
  void move_on(Exchange& exchange);
  // Those that can be repeated, and which `leaves` says of, go elsewhere; all else waits. Returns how many went.
  template <class Leaves>  // (exchange)
  std::uint32_t leave_silent(base::Handle endpoint, Leaves&& leaves) {
    return leave_silent(core_.exchanges->those([&](const Exchange& exchange) {
      return exchange.endpoint() == endpoint && exchange.waits_for_answer() && !exchange.attempt->trial &&
             leaves(exchange);
    }));
  }
  // One of them, to see how soon another endpoint answers it.
  bool compare(base::Handle endpoint, base::Handle exchange, const lifecycle::TrialPlan& plan);
  // Another endpoint has answered, at its first byte: whether in time tells about the silent one.
  void note_comparison(Exchange& exchange);
  // All that the endpoint still has to do ends. Returns how many were cut; those that another endpoint can take are not
  // among them.
  std::uint32_t end_work(base::Handle endpoint, base::Cause cause);
  // Nobody waits for the answer any more.
  void note_given_up(const Exchange& exchange);

 private:
  bool could_serve(const Exchange& exchange, base::Handle but);
  bool may_move(const Exchange& exchange);
  enum class Leaves : bool { nothing, witness };
  void move_away(Exchange& exchange, Leaves leaves);
  std::uint32_t leave_silent(std::span<const base::Handle> leaving);
  void compare_next(base::Handle exchange, base::Handle silent, const lifecycle::TrialPlan& plan);

  Core& core_;
};

}  // namespace ebb::gate
