// Attempts to have a request answered: an endpoint, then a connection to it, and what follows when one fails. An
// attempt lives in its exchange from try_endpoint() until drop(); a retry begins another one.
//
// Before: gate/intake, and gate/held_requests for requests that had to wait. Next: gate/request_path, or gate/tunnel
// for bytes; Exchanges::finish where no endpoint is left.
#pragma once

#include <memory>

#include "gate/exchange.h"
#include "lifecycle/retry.h"

namespace ebb::gate {

struct LiveEndpoint;

class Attempts {
 public:
  explicit Attempts(Core& core) : core_(core) {}

  // Asks endpoints until one is connecting or has the request; holds the exchange, or ends it, if there is none.
  void begin(Exchange& exchange);

  // From the endpoint's side.
  void on_leased(base::Handle exchange, Back& back, base::Handle end);
  void on_moved(base::Handle exchange, Back& back, base::Handle end);  // still connecting, but by other means
  void on_backend_full(base::Handle exchange);  // connecting: what came of it has no room for this one
  // Its connection or stream is over already.
  void on_backend_failed(base::Handle exchange, base::Cause cause,
                         lifecycle::Delivery delivery = lifecycle::Delivery::unknown);

  // This attempt is over, by our will; the request goes to another endpoint if that is allowed, else the exchange ends.
  void give_up(Exchange& exchange, base::Cause cause);
  // The same, of one whose end is over, or goes on without the exchange.
  void retry_or_finish(Exchange& exchange, base::Cause cause, lifecycle::Delivery delivery);
  // For Exchanges: the endpoint has the exchange no more.
  void drop(Exchange& exchange);

  std::uint32_t retries(const Exchange& exchange) const;

 private:
  // Whether it may be the trial of a silent endpoint: it can be repeated elsewhere, whole, when no answer comes.
  bool may_be_trial(const Exchange& exchange) const;
  base::Handle choose(Exchange& exchange);
  // False: the connection attempt failed at once, and another endpoint may be asked.
  bool try_endpoint(Exchange& exchange, LiveEndpoint& endpoint, const std::optional<lifecycle::TrialPlan>& trial);
  Exchange* tried(base::Handle exchange);  // nullptr: no endpoint has it
  void attach(Exchange& exchange, Back& back, base::Handle end, bool reused);
  Back& back_for(const Exchange& exchange, const LiveEndpoint& endpoint);
  BackendTarget target_of(const Exchange& exchange);

  Core& core_;
};

}  // namespace ebb::gate
