#include "observe/counters.h"

#include <gtest/gtest.h>

namespace ebb::observe {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

ExchangeRecord sample_record() {
  ExchangeRecord record;
  record.listener = 1;
  record.route = 2;
  record.backend = 3;
  record.endpoint = 4;
  record.status = 200;
  record.until_response = milliseconds{2};
  record.total = milliseconds{5};
  return record;
}

TEST(Histogram, BoundsAreInclusive) {
  EXPECT_EQ(Histogram::bucket_of(base::Duration{0}), 0u);
  EXPECT_EQ(Histogram::bucket_of(microseconds{64}), 0u);
  EXPECT_EQ(Histogram::bucket_of(microseconds{64} + base::Duration{1}), 1u);
  EXPECT_EQ(Histogram::bucket_of(microseconds{128}), 1u);
  EXPECT_EQ(Histogram::bucket_of(microseconds{129}), 2u);
}

TEST(Histogram, LastBucketTakesTheRest) {
  EXPECT_EQ(Histogram::bucket_of(microseconds{1 << 26}), Histogram::bucket_count - 2);
  EXPECT_EQ(Histogram::bucket_of(microseconds{(1 << 26) + 1}), Histogram::bucket_count - 1);
  EXPECT_EQ(Histogram::bucket_of(std::chrono::hours{24 * 365}), Histogram::bucket_count - 1);
}

TEST(Histogram, NegativeTimesDoNotLeaveTheArray) { EXPECT_EQ(Histogram::bucket_of(seconds{-1}), 0u); }

TEST(Histogram, AddingAnotherAddsEachBucketCountAndSum) {
  Histogram a, b;
  a.add(microseconds{50});
  b.add(microseconds{50});
  b.add(seconds{1});
  a.add(b);
  EXPECT_EQ(a.count, 3u);
  EXPECT_EQ(a.buckets[0], 2u);
  EXPECT_EQ(a.sum, seconds{1} + microseconds{100});
}

TEST(Counters, CountARequestUnderEachOfItsLabels) {
  Counters counters;
  ExchangeRecord record = sample_record();
  counters.record(record);
  counters.record(record);
  record.status = 502;
  record.cause = base::Cause::backend_reset;
  counters.record(record);
  EXPECT_EQ(counters.requests.size(), 2u);
  EXPECT_EQ((counters.requests[{1, 2, 3, 4, 200, base::Cause::completed}]), 2u);
  EXPECT_EQ((counters.requests[{1, 2, 3, 4, 502, base::Cause::backend_reset}]), 1u);
  EXPECT_EQ(counters.latency_by_backend[3].count, 3u);
  EXPECT_EQ(counters.latency_by_backend[3].sum, milliseconds{15});
}

TEST(Counters, AnExchangeWithoutAResponseHasNoResponseTime) {
  Counters counters;
  ExchangeRecord record = sample_record();
  record.until_response = {};
  counters.record(record);
  EXPECT_TRUE(counters.response_by_backend.empty());
  EXPECT_EQ(counters.latency_by_backend[3].count, 1u);
}

TEST(Counters, EndpointsThatComeAndGoDoNotMakeSeriesWithoutEnd) {
  Counters counters;
  ExchangeRecord record = sample_record();
  for (record.endpoint = 1; record.endpoint <= 2 * Counters::series_max; ++record.endpoint) counters.record(record);
  EXPECT_EQ(counters.requests.size(), Counters::series_max + 1);
  std::uint64_t total = 0;
  for (const auto& [key, count] : counters.requests) total += count;
  EXPECT_EQ(total, 2 * Counters::series_max);
}

TEST(Counters, MergingAddsTotalsAndTakesTheMaximumOfWhatIsShared) {
  Counters sum, other;
  for (Counters* counters : {&sum, &other}) {
    counters->record(sample_record());
    counters->closed_by(base::Side::client, base::Cause::client_reset);
    counters->client_accepted = 3;
    counters->backend_connections[2] = 4;
    counters->snapshots_alive = 2;
    counters->generation = 7;
    counters->loop_lag_max = milliseconds{1};
  }
  other.generation = 8;
  other.loop_lag_max = milliseconds{9};
  sum.add(other);
  EXPECT_EQ((sum.requests[{1, 2, 3, 4, 200, base::Cause::completed}]), 2u);
  EXPECT_EQ(sum.response_by_backend[3].count, 2u);
  EXPECT_EQ(sum.closed[1][static_cast<std::size_t>(base::Cause::client_reset)], 2u);
  EXPECT_EQ(sum.client_accepted, 6u);
  EXPECT_EQ(sum.backend_connections[2], 8u);
  EXPECT_EQ(sum.snapshots_alive, 2u);
  EXPECT_EQ(sum.generation, 7u);  // the one that all serve
  EXPECT_EQ(sum.loop_lag_max, milliseconds{9});
}

TEST(SeriesKeyHash, NeighbouringKeysSpreadOverTheLowAndHighBits) {
  // The map takes groups from the high bits and a reduced hash from the low ones: both must vary.
  std::uint64_t low = 0, high = 0;
  for (std::uint32_t endpoint = 0; endpoint < 64; ++endpoint) {
    const std::size_t hash = SeriesKeyHash{}({1, 1, 1, endpoint, 200, base::Cause::completed});
    low |= std::uint64_t{1} << (hash & 63);
    high |= std::uint64_t{1} << (hash >> 58);
  }
  EXPECT_GT(std::popcount(low), 30);
  EXPECT_GT(std::popcount(high), 30);
}

}  // namespace
}  // namespace ebb::observe
