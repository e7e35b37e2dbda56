// May a failed request be sent again? Only on proof, never on a guess (RFC 9110 9.2.2):
//
//   1. the connection was never established
//   2. the endpoint vouches that it did not act on it (RFC 9113 8.7)
//   3. the endpoint's FIN proves that no byte of it had arrived
//   4. its method is idempotent and no byte of a response has come
//
// At most once per endpoint; a pooled connection that was stale says nothing about its endpoint and does not count.
#pragma once

#include <cstdint>
#include <optional>

namespace ebb::lifecycle {

// What is known of a request whose connection failed.
enum class Delivery : std::uint8_t {
  unknown,      // it may have been acted on
  undelivered,  // no byte of it had reached the endpoint when that closed
  unprocessed,  // the endpoint says that it did not act on it
};

// A FIN carries an acknowledgement. `received`: how many bytes of the connection the peer had confirmed with its FIN;
// none without a FIN, because a bare RST proves nothing: within the time of a delayed acknowledgement a request that
// was read and one that was lost look the same. `begins_at`: how many bytes went before the request.
constexpr Delivery delivery(std::optional<std::uint64_t> received, std::uint64_t begins_at) {
  return received && *received <= begins_at ? Delivery::undelivered : Delivery::unknown;
}

struct RetryFacts {
  bool response_begun = false;  // a byte of the response was received
  bool request_sent = false;    // a byte of the request was handed to an established connection
  bool idempotent = false;
  Delivery delivery = Delivery::unknown;
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
  if (facts.response_begun || facts.tries_max <= 1) return RetryVerdict::no;
  // Bounded by the number of endpoints: each is tried once.
  if (!facts.request_sent) return RetryVerdict::another_endpoint;
  if (facts.tries >= facts.tries_max) return RetryVerdict::no;
  if (!facts.body_replayable) return RetryVerdict::no;
  if (facts.delivery == Delivery::unprocessed) return RetryVerdict::fresh_connection;
  if (facts.delivery == Delivery::unknown && !facts.idempotent) return RetryVerdict::no;
  return facts.connection_reused ? RetryVerdict::fresh_connection : RetryVerdict::another_endpoint;
}

// What has reached no endpoint adds nothing to the load of one; all else that is repeated has its budget.
constexpr bool needs_budget(const RetryFacts& facts) {
  return facts.request_sent && facts.delivery != Delivery::undelivered;
}

}  // namespace ebb::lifecycle
