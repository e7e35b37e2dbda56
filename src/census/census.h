// A sample and what is to be thought of each of its sockets.
#pragma once

#include <optional>
#include <vector>

#include "census/classify.h"
#include "census/history.h"
#include "census/sample.h"
#include "routes/address_set.h"

namespace ebb::census {

// Peers that are known to be gone: addresses, or one port of one.
struct GonePeers {
  routes::AddressSet hosts;
  std::vector<base::Address> ends;
  bool contains(const base::Address& address) const;
  friend bool operator==(const GonePeers&, const GonePeers&) = default;
};
// "10.1.0.5,10.1.0.6:8080,10.2.0.0/16"; the error says which of them is none.
std::expected<GonePeers, std::string> parse_gone(std::string_view list);

struct Census {
  Sample sample;
  std::vector<Classification> classifications;  // of each socket
  std::vector<std::optional<Age>> ages;         // as well

  std::size_t size() const { return sample.sockets.size(); }
};

// `history` has seen the sample already.
Census classify_all(Sample sample, const History& history, const Policy& policy, const GonePeers& gone);

}  // namespace ebb::census
