// The rate of requests per client address. A worker owns one table for all its routes. Its memory is fixed from the
// start, whatever the number of clients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/address.h"
#include "base/clock.h"
#include "routes/policy_model.h"

namespace ebb::routes {

// A token bucket that stores only the time when it is full again (the generic cell rate algorithm).
class TokenBucket {
 public:
  // Time until a token is available; zero: a token was taken.
  base::Duration take(const RateLimitModel& limit, base::Instant now);
  bool full(base::Instant now) const { return full_at_ <= now; }

 private:
  base::Instant full_at_{};  // an unused bucket is full
};

// Buckets by route and client (client_network.h defines a client). Sets of eight slots; a full set evicts the least
// recently used bucket. At worst a client gets a full bucket too early, never a refusal because of another client.
class RateTable {
 public:
  // `slots` is rounded up to a power of two.
  RateTable(std::size_t slots, std::uint64_t seed);

  // As TokenBucket::take, for the bucket of this route (by its label) and client.
  base::Duration take(std::uint32_t route, const base::Address& client, const RateLimitModel& limit, base::Instant now);

 private:
  static constexpr std::size_t set_size = 8;

  struct Slot {
    std::uint64_t network = 0;
    std::uint64_t owner = 0;  // route and family; 0: free
    base::Instant used_at{};
    TokenBucket bucket;
  };
  Slot& slot_of(std::uint32_t route, const base::Address& client);

  std::vector<Slot> slots_;
  std::uint64_t seed_;
};

// The value of Retry-After (RFC 9110 section 10.2.3): whole seconds, at least 1.
std::uint64_t retry_after_seconds(base::Duration wait);

}  // namespace ebb::routes
