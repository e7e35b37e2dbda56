#include "routes/shares.h"

namespace ebb::routes {

std::optional<std::size_t> pick(std::span<const Share> shares, std::uint64_t number) {
  std::uint64_t sum = 0;
  for (const Share& share : shares) sum += share.weight;
  if (sum == 0) return std::nullopt;
  std::uint64_t left = number % sum;
  std::size_t index = 0;
  while (left >= shares[index].weight) left -= shares[index++].weight;
  return index;
}

}  // namespace ebb::routes
