// Requests that have left a silent endpoint as its trials, and whose first answer is still awaited there: their clients
// wait elsewhere. Without them an endpoint that is slow, not dead, could never be heard. A witness is an exchange of
// its own; it takes over the endpoint's half of the one that has moved.
#pragma once

#include <algorithm>
#include <vector>

#include "gate/nobody.h"

namespace ebb::gate {

class Witnesses final : public Nobody {
 public:
  // Of one endpoint, on each worker; then the oldest goes.
  static constexpr std::size_t per_endpoint_max = 8;
  static constexpr std::size_t body_bytes_max = std::size_t{64} << 10;  // of an answer, that are read

  void add(base::Handle endpoint, base::Handle exchange) { all_.push_back({endpoint, exchange}); }
  void forget(base::Handle exchange) {
    std::erase_if(all_, [exchange](const Witness& each) { return each.exchange == exchange; });
  }
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
  std::vector<Witness> all_;
};

}  // namespace ebb::gate
