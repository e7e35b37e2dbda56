#include "observe/counters.h"

#include <algorithm>
#include <bit>

namespace ebb::observe {
namespace {

// The lower half of the product depends on all lower bits of both words; the upper half is folded back in.
std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

template <class Map>
void add_values(Map& into, const Map& from) {
  for (const auto& [key, value] : from) into[key] += value;
}

template <class Map>
void add_histograms(Map& into, const Map& from) {
  for (const auto& [key, histogram] : from) into[key].add(histogram);
}

template <class Array>
void add_each(Array& into, const Array& from) {
  for (std::size_t i = 0; i < std::size(into); ++i) into[i] += from[i];
}

}  // namespace

std::size_t SeriesKeyHash::operator()(const SeriesKey& key) const {
  const std::uint64_t where = (std::uint64_t{key.listener} << 32) | key.route;
  const std::uint64_t whom = (std::uint64_t{key.backend} << 32) | key.endpoint;
  const std::uint64_t outcome = (std::uint64_t{key.status} << 8) | static_cast<std::uint64_t>(key.cause);
  const std::uint64_t place = mix(where ^ 0x9e3779b97f4a7c15u, whom ^ 0xbf58476d1ce4e5b9u);
  return mix(place, outcome ^ 0x94d049bb133111ebu);
}

std::size_t Histogram::bucket_of(base::Duration value) {
  constexpr std::int64_t first_bound_us = 1 << first_bound_bits;
  const std::int64_t us = (value.count() + 999) / 1000;  // rounded up: bounds are inclusive ("le")
  if (us <= first_bound_us) return 0;
  const auto bits = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(us - 1)));
  return std::min(bits - first_bound_bits, bucket_count - 1);
}

void Histogram::add(base::Duration value) {
  buckets[bucket_of(value)] += 1;
  count += 1;
  sum += value;
}

void Histogram::add(const Histogram& other) {
  add_each(buckets, other.buckets);
  count += other.count;
  sum += other.sum;
}

void Counters::record(const ExchangeRecord& record) {
  SeriesKey key{record.listener, record.route, record.backend, record.endpoint, record.status, record.cause};
  // Endpoints come and go, and their series would pile up. Beyond the limit, new series are counted without the
  // endpoint.
  if (requests.size() >= series_max && !requests.contains(key)) key.endpoint = 0;
  requests[key] += 1;
  latency_by_backend[record.backend].add(record.total);
  if (record.until_response > base::Duration::zero()) response_by_backend[record.backend].add(record.until_response);
}

void Counters::add(const Counters& other) {
  add_values(requests, other.requests);
  add_histograms(latency_by_backend, other.latency_by_backend);
  add_histograms(response_by_backend, other.response_by_backend);
  for (std::size_t side = 0; side < closed.size(); ++side) add_each(closed[side], other.closed[side]);
  add_each(retries, other.retries);
  for (std::size_t health = 0; health < verdicts.size(); ++health) add_each(verdicts[health], other.verdicts[health]);
  for (const auto& [backend, results] : other.checks) add_each(checks[backend], results);
  datagrams.add(other.datagrams);
#define X(member, ...) member += other.member;
  EBB_PLAIN_COUNTERS(X)
  EBB_SUMS(X)
#undef X

  add_each(client_connections, other.client_connections);
  add_each(backend_connections, other.backend_connections);
  // Workers share snapshots, so snapshots and generations do not add up. Take the highest count, and the
  // generation that all workers reached; 0 means a worker without a snapshot, or an empty sum.
  snapshots_alive = std::max(snapshots_alive, other.snapshots_alive);
  generation =
      generation == 0 || other.generation == 0 ? generation + other.generation : std::min(generation, other.generation);
  loop_lag_max = std::max(loop_lag_max, other.loop_lag_max);
}

}  // namespace ebb::observe
