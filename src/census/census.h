// A sample with a verdict on each of its sockets.
#pragma once

#include <optional>
#include <vector>

#include "census/classify.h"
#include "census/history.h"
#include "census/sample.h"
#include "routes/address_set.h"

namespace ebb::census {

// Peers that are known to be gone: addresses, networks, or single ports.
struct GonePeers {
  routes::AddressSet hosts;
  std::vector<base::Address> ends;
  bool contains(const base::Address& address) const;
  friend bool operator==(const GonePeers&, const GonePeers&) = default;
};
// "10.1.0.5,10.1.0.6:8080,10.2.0.0/16"; the error names the invalid part.
std::expected<GonePeers, std::string> parse_gone(std::string_view list);

struct Census {
  Sample sample;
  std::vector<Classification> classifications;  // of each socket
  std::vector<std::optional<Age>> ages;         // of each socket

  std::size_t size() const { return sample.sockets.size(); }
};

// `history` already contains the sample.
Census classify_all(Sample sample, const History& history, const Policy& policy, const GonePeers& gone);

}  // namespace ebb::census
