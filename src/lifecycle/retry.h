// May a failed request be sent again? Only on proof, never on a guess (RFC 9110 9.2.2).
#pragma once

#include <cstdint>

namespace ebb::lifecycle {

struct RetryFacts {
  bool response_begun = false;  // a byte of the response was received
  bool request_sent = false;    // a byte of the request was handed to an established connection
  bool idempotent = false;
  bool unprocessed = false;        // the endpoint vouches that it never acted on it (RFC 9113 8.7)
  bool connection_reused = false;  // it had served before: the endpoint may have closed it while we wrote
  bool body_replayable = true;     // all body bytes sent so far are still at hand
  std::uint32_t tries = 1;         // attempts made
  std::uint32_t tries_max = 1;
};

enum class RetryVerdict : std::uint8_t {
  no,
  another_endpoint,  // this endpoint is not asked again for this request
  fresh_connection,  // a pooled connection was stale or leaving: says nothing about its endpoint
};

constexpr RetryVerdict may_retry(const RetryFacts& facts) {
  if (facts.response_begun || facts.tries >= facts.tries_max) return RetryVerdict::no;
  if (!facts.request_sent) return RetryVerdict::another_endpoint;
  if (!facts.body_replayable) return RetryVerdict::no;
  if (facts.unprocessed) return RetryVerdict::fresh_connection;
  if (!facts.idempotent) return RetryVerdict::no;
  return facts.connection_reused ? RetryVerdict::fresh_connection : RetryVerdict::another_endpoint;
}

}  // namespace ebb::lifecycle
