#include "routes/rate_limit.h"

#include <algorithm>
#include <bit>
#include <span>

#include "routes/client_network.h"

namespace ebb::routes {

base::Duration TokenBucket::take(const RateLimitModel& limit, base::Instant now) {
  const base::Duration per_token = base::Duration(std::chrono::seconds{1}) / limit.requests;
  const base::Duration capacity = per_token * (limit.burst == 0 ? limit.requests : limit.burst);
  const base::Instant full_after = std::max(full_at_, now) + per_token;
  const base::Duration debt = full_after - now - capacity;
  if (debt > base::Duration::zero()) return debt;
  full_at_ = full_after;
  return base::Duration::zero();
}

RateTable::RateTable(std::size_t slots, std::uint64_t seed)
    : slots_(std::bit_ceil(std::max(slots, set_size))), seed_(seed) {}

base::Duration RateTable::take(std::uint32_t route, const base::Address& client, const RateLimitModel& limit,
                               base::Instant now) {
  Slot& slot = slot_of(route, client);
  slot.used_at = now;
  return slot.bucket.take(limit, now);
}

RateTable::Slot& RateTable::slot_of(std::uint32_t route, const base::Address& client) {
  const ClientNetwork network = ClientNetwork::of(client);
  const std::uint64_t owner = (std::uint64_t{route} << 2) | (network.v6 ? 3 : 1);
  const std::size_t set = network.hash(seed_ ^ owner) & (slots_.size() / set_size - 1);
  const std::span<Slot> candidates(&slots_[set * set_size], set_size);
  for (Slot& slot : candidates) {
    if (slot.owner == owner && slot.network == network.bits) return slot;
  }
  Slot& oldest = *std::ranges::min_element(candidates, {}, &Slot::used_at);
  oldest = {network.bits, owner, {}, {}};
  return oldest;
}

std::uint64_t retry_after_seconds(base::Duration wait) {
  return static_cast<std::uint64_t>(std::max(std::chrono::ceil<std::chrono::seconds>(wait).count(), std::int64_t{1}));
}

}  // namespace ebb::routes
