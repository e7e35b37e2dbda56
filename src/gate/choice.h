// The policies of balancing, as pure functions over what is known of each endpoint that may take a request. All want at
// least one candidate and return its index.
//
// Before: gate/balance, which says who may.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/rng.h"
#include "base/slot_map.h"

namespace ebb::gate {

struct Candidate {
  base::Handle handle{};
  std::uint64_t identity = 0;
  std::uint32_t weight = 1;  // above 0, on a scale that all share
  std::uint32_t active = 0;  // exchanges that use it
  std::int64_t credit = 0;   // of turns not yet taken; changed by the first two
};

// Weighted round robin that mixes: as many turns as the weight, spread over the round instead of one after the other.
std::size_t next_turn(std::span<Candidate> candidates);

// The least (active + 1) / weight. Equals take turns; idle ones are equals, so that weights hold for a quiet backend
// too.
std::size_t least_busy(std::span<Candidate> candidates);

// Two are drawn by weight, the less busy one of them is taken: nearly as even as the above, and workers that know
// nothing of each other do not all run to the same one.
std::size_t less_busy_of_two(std::span<const Candidate> candidates, base::Rng& random);

// The endpoint that the key belongs to by weighted rendezvous hashing: one that comes takes only keys that are now its
// own, one that goes loses only its own. One that has more than 5/4 of its fair share of the work passes the key on to
// the next in the key's own order.
std::size_t owner_of_key(std::span<const Candidate> candidates, std::uint64_t key);

// Below this much work no endpoint is busy, however idle the others are: parallel requests of one browser stay
// together.
inline constexpr std::uint32_t hardly_active = 16;

}  // namespace ebb::gate
