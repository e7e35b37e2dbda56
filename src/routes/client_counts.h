// How many connections each client has open. A worker owns one table per listener with such a limit. An entry exists
// only while its client has a connection, so the limit of all connections bounds the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "base/address.h"
#include "base/assert.h"
#include "routes/client_network.h"

namespace ebb::routes {

class ClientCounts {
 public:
  explicit ClientCounts(std::uint64_t seed) : counts_(0, Hash{seed}) {}

  // False, without counting, if the client already has `limit` connections.
  bool enter(const base::Address& client, std::uint32_t limit) {
    const auto [entry, fresh] = counts_.try_emplace(ClientNetwork::of(client), 0u);
    if (entry->second >= limit) {
      if (fresh) counts_.erase(entry);
      return false;
    }
    entry->second += 1;
    return true;
  }
  // For a connection that entered.
  void leave(const base::Address& client) {
    const auto entry = counts_.find(ClientNetwork::of(client));
    EBB_ASSERT(entry != counts_.end());
    if (--entry->second == 0) counts_.erase(entry);
  }

  std::size_t clients() const { return counts_.size(); }

 private:
  struct Hash {
    std::uint64_t seed;
    std::size_t operator()(const ClientNetwork& network) const { return network.hash(seed); }
  };
  std::unordered_map<ClientNetwork, std::uint32_t, Hash> counts_;
};

}  // namespace ebb::routes
