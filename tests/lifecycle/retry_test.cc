#include "lifecycle/retry.h"

#include <gtest/gtest.h>

namespace ebb::lifecycle {
namespace {

RetryFacts sent_get() {
  return {.request_sent = true, .idempotent = true, .connection_reused = true, .tries = 1, .tries_max = 3};
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

TEST(Retry, ANonIdempotentRequestThatWasSentIsNeverRepeated) {
  RetryFacts facts = sent_get();
  facts.idempotent = false;
  EXPECT_EQ(may_retry(facts), RetryVerdict::no);
}

TEST(Retry, NothingIsRepeatedAfterAByteOfTheResponse) {
  RetryFacts facts = sent_get();
  facts.response_begun = true;
  EXPECT_EQ(may_retry(facts), RetryVerdict::no);
}

TEST(Retry, ABodyThatIsGoneCannotBeRepeated) {
  RetryFacts facts = sent_get();
  facts.body_replayable = false;
  EXPECT_EQ(may_retry(facts), RetryVerdict::no);
}

TEST(Retry, TheNumberOfTriesIsBounded) {
  RetryFacts facts = sent_get();
  facts.tries = facts.tries_max;
  EXPECT_EQ(may_retry(facts), RetryVerdict::no);
  facts.request_sent = false;
  EXPECT_EQ(may_retry(facts), RetryVerdict::no);
}

TEST(Retry, WhatTheEndpointNeverProcessedMayBeRepeatedWhateverTheMethod) {
  const RetryFacts refused{
      .request_sent = true, .idempotent = false, .unprocessed = true, .connection_reused = true, .tries_max = 3};
  EXPECT_EQ(may_retry(refused), RetryVerdict::fresh_connection);
  RetryFacts bodiless = refused;
  bodiless.body_replayable = false;
  EXPECT_EQ(may_retry(bodiless), RetryVerdict::no);
}

}  // namespace
}  // namespace ebb::lifecycle
