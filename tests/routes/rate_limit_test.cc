#include "routes/rate_limit.h"

#include <gtest/gtest.h>

#include "routes/address_set.h"
#include "routes/client_counts.h"

namespace ebb::routes {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

base::Address ip(const std::string& text) { return *parse_ip(text); }

class RateLimit : public testing::Test {
 protected:
  int taken(int tries, const RateLimitModel& limit) {
    int count = 0;
    for (int i = 0; i < tries; ++i) count += bucket_.take(limit, now_) == base::Duration::zero();
    return count;
  }

  base::Instant now_{seconds{1000}};
  TokenBucket bucket_;
};

TEST_F(RateLimit, LetsABurstPassAndThenTheRate) {
  const RateLimitModel limit{.requests = 10, .burst = 20};
  EXPECT_TRUE(bucket_.full(now_));
  EXPECT_EQ(taken(30, limit), 20);
  EXPECT_FALSE(bucket_.full(now_));
  now_ += milliseconds{99};
  EXPECT_EQ(taken(5, limit), 0);
  now_ += milliseconds{1};
  EXPECT_EQ(taken(5, limit), 1);
  now_ += seconds{1};
  EXPECT_EQ(taken(30, limit), 10);
  now_ += seconds{3600};
  EXPECT_TRUE(bucket_.full(now_));
  EXPECT_EQ(taken(30, limit), 20);
}

TEST_F(RateLimit, TakesTheRateForTheBurstThatIsNotGiven) { EXPECT_EQ(taken(30, {.requests = 5}), 5); }

TEST_F(RateLimit, SaysHowLongToWait) {
  const RateLimitModel limit{.requests = 1, .burst = 1};
  EXPECT_EQ(bucket_.take(limit, now_), base::Duration::zero());
  EXPECT_EQ(bucket_.take(limit, now_), seconds{1});
  EXPECT_EQ(bucket_.take(limit, now_ + milliseconds{400}), milliseconds{600});
  EXPECT_EQ(retry_after_seconds(milliseconds{600}), 1u);
  EXPECT_EQ(retry_after_seconds(milliseconds{1001}), 2u);
  EXPECT_EQ(retry_after_seconds({}), 1u);
}

TEST_F(RateLimit, RefusalsDoNotPushTheNextTokenAway) {
  const RateLimitModel limit{.requests = 10, .burst = 1};
  EXPECT_EQ(taken(1000, limit), 1);
  now_ += milliseconds{100};
  EXPECT_EQ(taken(1, limit), 1);
}

TEST_F(RateLimit, CountsEachClientAndEachRouteApart) {
  RateTable table(64, 1);
  const RateLimitModel limit{.requests = 1, .burst = 1};
  const auto refused = [&](std::uint32_t route, const char* client) {
    return table.take(route, ip(client), limit, now_) > base::Duration::zero();
  };
  EXPECT_FALSE(refused(1, "192.0.2.1"));
  EXPECT_TRUE(refused(1, "192.0.2.1"));
  EXPECT_TRUE(refused(1, "::ffff:192.0.2.1"));
  EXPECT_FALSE(refused(1, "192.0.2.2"));
  EXPECT_FALSE(refused(2, "192.0.2.1"));
}

TEST_F(RateLimit, CountsASixtyFourOfIpv6AsOneClient) {
  RateTable table(64, 1);
  const RateLimitModel limit{.requests = 1, .burst = 1};
  EXPECT_EQ(table.take(1, ip("2001:db8::1"), limit, now_), base::Duration::zero());
  EXPECT_GT(table.take(1, ip("2001:db8::ffff:1"), limit, now_), base::Duration::zero());
  EXPECT_EQ(table.take(1, ip("2001:db8:0:1::1"), limit, now_), base::Duration::zero());
}

TEST_F(RateLimit, GivesUpTheClientThatWasSeenLongestAgoWhenTheTableIsFull) {
  RateTable table(8, 1);  // one set
  const RateLimitModel limit{.requests = 1, .burst = 1};
  const auto refused = [&](int client) {
    now_ += milliseconds{1};
    return table.take(1, ip("192.0.2." + std::to_string(client)), limit, now_) > base::Duration::zero();
  };
  for (int client = 1; client <= 8; ++client) EXPECT_FALSE(refused(client));
  EXPECT_TRUE(refused(1));   // seen again, so that 2 is now the oldest
  EXPECT_FALSE(refused(9));  // takes the place of 2
  EXPECT_TRUE(refused(1));
  EXPECT_TRUE(refused(3));
  EXPECT_FALSE(refused(2));
}

TEST(ClientCounts, RefuseTheConnectionBeyondTheLimitOfOneClient) {
  ClientCounts counts(1);
  EXPECT_TRUE(counts.enter(ip("192.0.2.1"), 2));
  EXPECT_TRUE(counts.enter(ip("::ffff:192.0.2.1"), 2));
  EXPECT_FALSE(counts.enter(ip("192.0.2.1"), 2));
  EXPECT_TRUE(counts.enter(ip("192.0.2.2"), 2));
  counts.leave(ip("192.0.2.1"));
  EXPECT_TRUE(counts.enter(ip("192.0.2.1"), 2));
}

TEST(ClientCounts, ForgetClientsWithoutConnections) {
  ClientCounts counts(1);
  EXPECT_FALSE(counts.enter(ip("192.0.2.1"), 0));
  EXPECT_EQ(counts.clients(), 0u);
  EXPECT_TRUE(counts.enter(ip("2001:db8::1"), 3));
  EXPECT_TRUE(counts.enter(ip("2001:db8::2"), 3));
  EXPECT_TRUE(counts.enter(ip("2001:db8:0:1::1"), 3));
  EXPECT_EQ(counts.clients(), 2u);
  counts.leave(ip("2001:db8::2"));
  counts.leave(ip("2001:db8::1"));
  counts.leave(ip("2001:db8:0:1::1"));
  EXPECT_EQ(counts.clients(), 0u);
}

}  // namespace
}  // namespace ebb::routes
