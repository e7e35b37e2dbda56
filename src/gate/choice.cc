#include "gate/choice.h"

#include <algorithm>
#include <cmath>

namespace ebb::gate {

namespace {

std::uint64_t sum_of_weights(std::span<const Candidate> candidates) {
  std::uint64_t sum = 0;
  for (const Candidate& candidate : candidates) sum += candidate.weight;
  return sum;
}

bool less_busy(const Candidate& a, const Candidate& b) {
  return (std::uint64_t{a.active} + 1) * b.weight < (std::uint64_t{b.active} + 1) * a.weight;
}

// Smooth weighted round robin: all gain by their weight, the richest is next and pays for the round.
template <class Eligible>
std::size_t next_turn_of(std::span<Candidate> candidates, Eligible&& eligible) {
  std::int64_t round = 0;
  for (const Candidate& candidate : candidates) round += eligible(candidate) ? candidate.weight : 0;
  std::size_t best = candidates.size();
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    Candidate& candidate = candidates[i];
    if (!eligible(candidate)) continue;
    // Within a round, so that what was gathered under other weights or among others is soon worked off.
    candidate.credit = std::clamp(candidate.credit, -round, round) + candidate.weight;
    if (best == candidates.size() || candidate.credit > candidates[best].credit) best = i;
  }
  candidates[best].credit -= round;
  return best;
}

// Which candidate a number below the sum of weights falls to, one left out.
std::size_t at_weight(std::span<const Candidate> candidates, std::uint64_t number, std::size_t left_out) {
  std::size_t index = 0;
  for (;; ++index) {
    if (index == left_out) continue;
    if (number < candidates[index].weight) return index;
    number -= candidates[index].weight;
  }
}

// What a candidate bids for a key; the highest bid owns it. With u uniform in (0, 1), -weight / ln(u) wins in
// proportion to weight. It grows with u, so that equal weights may compare `u` alone and need no logarithm.
double bid_of(std::uint64_t hash, std::uint32_t weight) {
  const double u = (static_cast<double>(hash >> 11) + 0.5) * 0x1p-53;
  return -static_cast<double>(weight) / std::log(u);
}

// Consistent hashing with bounded loads (Mirrokni, Thorup, Zadimoghaddam 2016). The shares add up to more than there
// is, so that somebody always has room.
class FairShare {
 public:
  explicit FairShare(std::span<const Candidate> candidates) : weights_(sum_of_weights(candidates)) {
    for (const Candidate& candidate : candidates) work_ += candidate.active;
  }
  bool has_room(const Candidate& candidate) const {
    if (candidate.active < hardly_active) return true;
    // active + 1 <= ceil(5/4 * work * weight / weights)
    return std::uint64_t{candidate.active} * 4 * weights_ < 5 * work_ * candidate.weight;
  }

 private:
  std::uint64_t weights_;
  std::uint64_t work_ = 1;  // with the new one
};

}  // namespace

std::size_t next_turn(std::span<Candidate> candidates) {
  return next_turn_of(candidates, [](const Candidate&) { return true; });
}

std::size_t least_busy(std::span<Candidate> candidates) {
  const Candidate best = *std::ranges::min_element(candidates, less_busy);
  if (best.active == 0) return next_turn_of(candidates, [](const Candidate& other) { return other.active == 0; });
  return next_turn_of(candidates, [&](const Candidate& other) { return !less_busy(best, other); });
}

std::size_t less_busy_of_two(std::span<const Candidate> candidates, base::Rng& random) {
  if (candidates.size() == 1) return 0;
  const std::uint64_t weights = sum_of_weights(candidates);
  const std::size_t first = at_weight(candidates, random.below(weights), candidates.size());
  if (candidates[first].active == 0) return first;
  const std::size_t second = at_weight(candidates, random.below(weights - candidates[first].weight), first);
  return less_busy(candidates[second], candidates[first]) ? second : first;
}

std::size_t owner_of_key(std::span<const Candidate> candidates, std::uint64_t key) {
  const FairShare share(candidates);
  const std::uint64_t mixed = base::Rng(key).next();
  const bool equal = std::ranges::all_of(
      candidates, [&](const Candidate& candidate) { return candidate.weight == candidates.front().weight; });
  std::size_t best = candidates.size();
  std::uint64_t best_hash = 0;
  double best_bid = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!share.has_room(candidates[i])) continue;
    const std::uint64_t hash = base::Rng(mixed ^ candidates[i].identity).next();
    const double bid = equal ? 0 : bid_of(hash, candidates[i].weight);
    if (best < candidates.size() && (equal ? hash <= best_hash : bid <= best_bid)) continue;
    best = i;
    best_hash = hash;
    best_bid = bid;
  }
  return best;
}

}  // namespace ebb::gate
