// How long an exchange may take: as a whole, one attempt of it, and between two pieces of a body or of a tunnel. An
// exchange has one timer, armed for the earliest of them. All its deadlines are set, and come, here.
//
// Before: whoever moves an exchange. Next: Exchanges::finish, gate/attempts (a retry) or gate/moves.
#pragma once

#include "gate/exchange.h"

namespace ebb::gate {

class Deadlines {
 public:
  explicit Deadlines(Core& core) : core_(core) {}

  // Of an attempt that begins: its route's limit, or that of the trial that it is.
  void limit_attempt(Exchange& exchange, const std::optional<lifecycle::TrialPlan>& trial);
  // While a connection is being established its own timer runs, unless one of ours ends before it.
  void arm_connecting(Exchange& exchange);
  void wait_for_connection(Exchange& exchange);  // not to be moved on any more
  void arm_held(Exchange& exchange, base::Instant until);
  // The endpoint has the whole request: it has to answer from now on.
  void asked(Exchange& exchange);
  // Something has moved: the deadline of what is awaited next begins.
  void moved(Exchange& exchange);
  // From now on it is a request like others: the endpoint has answered, and that was the question; or nobody else can
  // take it. The rest takes as long as it takes.
  void end_trial(Exchange& exchange);
  // What was a request is a tunnel now; its age is another matter.
  void begin_tunnel(Exchange& exchange);

  void on_timer(base::Handle exchange);

 private:
  // The time for what is awaited, from when it has been, and what it ends by.
  struct Wait {
    base::Duration limit{};
    base::Cause cause;
    base::Instant since{};
    base::Instant end() const { return since + limit; }
  };
  Wait awaited(const Exchange& exchange) const;
  bool end_if_overdue(Exchange& exchange);
  void arm(Exchange& exchange, base::Instant end_of_wait);

  Core& core_;
};

// Of one answer; of a route with shares, the chosen backend's setting wins.
base::Duration response_timeout(const Exchange& exchange);

}  // namespace ebb::gate
