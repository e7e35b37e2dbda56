// How many connections each client has open at a listener that limits them, over all workers: the kernel spreads a
// client's connections over the workers, so that none of them sees the sum. The lock is taken when such a connection
// begins and ends, never for a request.
#pragma once

#include <map>
#include <mutex>

#include "base/labels.h"
#include "routes/client_counts.h"

namespace ebb::gate {

class ClientLimits {
 public:
  explicit ClientLimits(std::uint64_t seed) : seed_(seed) {}

  // False, and nothing is counted, if the client has `limit` connections already.
  bool enter(base::Label listener, const base::Address& client, std::uint32_t limit) {
    const std::lock_guard lock(mutex_);
    return counts_.try_emplace(listener, seed_).first->second.enter(client, limit);
  }
  void leave(base::Label listener, const base::Address& client) {
    const std::lock_guard lock(mutex_);
    counts_.at(listener).leave(client);
  }

 private:
  std::uint64_t seed_;
  std::mutex mutex_;
  std::map<base::Label, routes::ClientCounts> counts_;
};

}  // namespace ebb::gate
