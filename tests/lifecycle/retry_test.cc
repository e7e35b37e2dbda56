#include "lifecycle/retry.h"

#include <gtest/gtest.h>

#include <vector>

namespace ebb::lifecycle {
namespace {

RetryFacts sent_get() {
  return {.request_sent = true, .idempotent = true, .connection_reused = true, .tries = 1, .tries_max = 3};
}

RetryFacts sent_post() {
  RetryFacts facts = sent_get();
  facts.idempotent = false;
  return facts;
}

// Every combination of what can be known.
std::vector<RetryFacts> all_facts() {
  std::vector<RetryFacts> all;
  for (unsigned bits = 0; bits < 32; ++bits) {
    for (const Delivery delivery : {Delivery::unknown, Delivery::undelivered, Delivery::unprocessed}) {
      for (const std::uint32_t tries : {1u, 2u}) {
        all.push_back({.response_begun = (bits & 1) != 0,
                       .request_sent = (bits & 2) != 0,
                       .idempotent = (bits & 4) != 0,
                       .delivery = delivery,
                       .connection_reused = (bits & 8) != 0,
                       .body_replayable = (bits & 16) != 0,
                       .tries = tries,
                       .tries_max = 2});
      }
    }
  }
  return all;
}

TEST(Retry, HappensByTheFourRulesAndByNoOther) {
  for (const RetryFacts& facts : all_facts()) {
    const bool never_established = !facts.request_sent;
    const bool unprocessed = facts.delivery == Delivery::unprocessed;
    const bool undelivered = facts.delivery == Delivery::undelivered;
    // A connection that never was is no try: each endpoint is asked once.
    const bool proven = (unprocessed || undelivered || facts.idempotent) && facts.body_replayable;
    const bool may = never_established || (proven && facts.tries < facts.tries_max);
    const bool expected = may && !facts.response_begun;
    EXPECT_EQ(may_retry(facts) != RetryVerdict::no, expected);
  }
}

TEST(Retry, TheSameEndpointIsAskedAgainOnlyBehindAStaleConnectionOrOnItsWord) {
  for (const RetryFacts& facts : all_facts()) {
    if (may_retry(facts) != RetryVerdict::fresh_connection) continue;
    EXPECT_TRUE(facts.request_sent);
    EXPECT_TRUE(facts.connection_reused || facts.delivery == Delivery::unprocessed);
  }
}

TEST(Retry, WhatWasNeverSentMayGoElsewhereWhateverItsMethod) {
  EXPECT_EQ(may_retry({.idempotent = false, .tries = 1, .tries_max = 2}), RetryVerdict::another_endpoint);
}

TEST(Retry, AStalePooledConnectionIsReplacedByAFreshOne) {
  EXPECT_EQ(may_retry(sent_get()), RetryVerdict::fresh_connection);
}

TEST(Retry, AFreshConnectionThatFailsSpeaksAgainstItsEndpoint) {
  RetryFacts facts = sent_get();
  facts.connection_reused = false;
  EXPECT_EQ(may_retry(facts), RetryVerdict::another_endpoint);
}

TEST(Retry, ANonIdempotentRequestThatMayHaveArrivedIsNeverRepeated) {
  EXPECT_EQ(may_retry(sent_post()), RetryVerdict::no);
}

TEST(Retry, WhatProvablyDidNotArriveIsRepeatedWhateverItsMethod) {
  RetryFacts facts = sent_post();
  facts.delivery = Delivery::undelivered;
  EXPECT_EQ(may_retry(facts), RetryVerdict::fresh_connection);
  facts.connection_reused = false;
  EXPECT_EQ(may_retry(facts), RetryVerdict::another_endpoint);
}

TEST(Retry, WhatTheEndpointNeverProcessedMayBeRepeatedWhateverTheMethod) {
  RetryFacts refused = sent_post();
  refused.delivery = Delivery::unprocessed;
  EXPECT_EQ(may_retry(refused), RetryVerdict::fresh_connection);
  refused.body_replayable = false;
  EXPECT_EQ(may_retry(refused), RetryVerdict::no);
}

TEST(Retry, WhatReachedNoEndpointNeedsNoBudget) {
  RetryFacts facts = sent_get();
  EXPECT_TRUE(needs_budget(facts));
  facts.delivery = Delivery::unprocessed;
  EXPECT_TRUE(needs_budget(facts));
  facts.delivery = Delivery::undelivered;
  EXPECT_FALSE(needs_budget(facts));
  EXPECT_FALSE(needs_budget({.request_sent = false}));
}

TEST(Delivery, IsProvenByAFinThatDoesNotAcknowledgeTheFirstByte) {
  EXPECT_EQ(delivery(1000, 1000), Delivery::undelivered);
  EXPECT_EQ(delivery(400, 1000), Delivery::undelivered);
}

TEST(Delivery, IsNotProvenByAFinThatAcknowledgesAnyByteOfIt) {
  EXPECT_EQ(delivery(1001, 1000), Delivery::unknown);
  EXPECT_EQ(delivery(5000, 1000), Delivery::unknown);
}

TEST(Delivery, IsNotProvenWithoutAFin) { EXPECT_EQ(delivery(std::nullopt, 1000), Delivery::unknown); }

}  // namespace
}  // namespace ebb::lifecycle
