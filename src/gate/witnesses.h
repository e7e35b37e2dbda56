// Requests that have left a silent endpoint as its trials, and whose first answer is still awaited there: their clients
// wait elsewhere. Without them an endpoint that is slow, not dead, could never be heard. A witness is an exchange of
// its own; it takes over the endpoint's half of the one that has moved.
//
// Before: gate/moves. Next: gate/response_path, for the witness; gate/health hears its answer.
#pragma once

#include <algorithm>
#include <vector>

#include "gate/exchange.h"
#include "gate/nobody.h"

namespace ebb::gate {

struct LiveEndpoint;

class Witnesses final : public Nobody {
 public:
  explicit Witnesses(Core& core) : core_(core) {}

  // Of one endpoint, on each worker; then the oldest goes.
  static constexpr std::size_t per_endpoint_max = 8;
  static constexpr std::size_t body_bytes_max = std::size_t{64} << 10;  // of an answer, that are read

  // The endpoint's half of an exchange that leaves; where none may stay it is left as it is.
  void take_over(Exchange& exchange);
  void forget(base::Handle exchange) {
    std::erase_if(all_, [exchange](const Witness& each) { return each.exchange == exchange; });
  }
  void end(base::Handle endpoint, base::Cause cause);  // of all endpoints if none is named
  // Their exchanges, the oldest first; of all endpoints if none is named.
  std::vector<base::Handle> of(base::Handle endpoint = {}) const {
    std::vector<base::Handle> exchanges;
    for (const Witness& each : all_)
      if (!endpoint || each.endpoint == endpoint) exchanges.push_back(each.exchange);
    return exchanges;
  }

 private:
  struct Witness {
    base::Handle endpoint, exchange;
  };
  void begin(Exchange& original, LiveEndpoint& endpoint);

  Core& core_;
  std::vector<Witness> all_;
};

}  // namespace ebb::gate
