// The counters of one worker; only that worker writes them. The scraper requests a copy from each worker by message and
// adds the copies up.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <tuple>

#include "base/cause.h"
#include "base/labels.h"
#include "observe/datagram_counters.h"
#include "observe/exchange_record.h"

namespace ebb::observe {

struct SeriesKey {
  base::Label listener, route, backend, endpoint;
  std::uint16_t status;
  base::Cause cause;
  friend bool operator==(const SeriesKey&, const SeriesKey&) = default;
};
struct SeriesKeyHash {
  using is_avalanching = void;  // the hash already mixes all bits; the map need not
  std::size_t operator()(const SeriesKey& key) const;
};

// Powers of two in microseconds, from 64 us to 67 s; the last bucket has no upper bound.
struct Histogram {
  static constexpr std::size_t bucket_count = 22;
  static constexpr std::size_t first_bound_bits = 6;  // bucket i ends at, and includes, 2^(6 + i) us
  static std::size_t bucket_of(base::Duration value);

  std::array<std::uint64_t, bucket_count> buckets{};
  std::uint64_t count = 0;
  base::Duration sum{};
  void add(base::Duration value);
  void add(const Histogram& other);
};

using ConnectionStates = std::array<std::uint64_t, 12>;

// Counters without labels. A row makes the member, adds it up and writes the metric. docs/metrics.md needs a row too.
// clang-format off
// X(member, metric, words)
#define EBB_PLAIN_COUNTERS(X)                                                    \
  X(retries_refused, "ebbgate_retries_refused",                                  \
    "Retries refused by the retry budget.")                                      \
  X(client_accepted, "ebbgate_connections_accepted",                             \
    "Client connections accepted.")                                              \
  X(accepts_failed, "ebbgate_accepts_failed",                                    \
    "Failed accepts for lack of descriptors or memory.")                         \
  X(backend_opened, "ebbgate_backend_connections_opened",                        \
    "Connection attempts to endpoints.")                                         \
  X(backend_reused, "ebbgate_backend_connections_reused",                        \
    "Requests sent over a reused connection.")                                   \
  X(spliced_bytes, "ebbgate_spliced_bytes",                                      \
    "Body bytes that splice moved inside the kernel.")                           \
  X(replay_copies_dropped, "ebbgate_replay_copies_dropped",                      \
    "Requests that became impossible to retry, to save buffers.")                \
  X(compressions_left_out, "ebbgate_compressions_left_out",                      \
    "Responses sent without compression, to save memory.")                       \
  X(log_lines_dropped, "ebbgate_access_log_lines_dropped",                       \
    "Access log lines dropped because the writer fell behind.")                  \
  X(loop_rounds, "ebbgate_loop_rounds",                                          \
    "Rounds of the workers' event loops.")                                       \
  X(receives, "ebbgate_receives",                                                \
    "Receive operations.")                                                       \
  X(sends, "ebbgate_sends",                                                      \
    "Send operations.")                                                          \
  X(missing_transitions, "ebbgate_missing_transitions",                          \
    "Events without a row in a state machine. Any value but 0 is a bug.")        \
  X(lost_handles, "ebbgate_lost_handles",                                        \
    "Failed look-ups of an object that had to exist. Any value but 0 is a bug.")

// Counters and gauges whose metric has labels or is computed. A row makes the member and adds it up.
#define EBB_SUMS(X)                                                                \
  X(client_bytes_in) X(client_bytes_out) X(backend_bytes_in) X(backend_bytes_out)  \
  X(tls_handshakes) /* completed */ X(tls_resumed) /* of them */                   \
  X(mirrors_answered) X(mirrors_failed) X(mirrors_left_out)                        \
  X(sticky_bound) X(sticky_stayed) X(sticky_moved)                                 \
  X(exchanges) X(requests_held) /* of them, without an endpoint */ X(buffer_bytes)
// clang-format on

struct Counters {
  static constexpr std::size_t series_max = 20'000;  // of `requests`, per worker

  boost::unordered_flat_map<SeriesKey, std::uint64_t, SeriesKeyHash> requests;
  boost::unordered_flat_map<base::Label, Histogram> latency_by_backend;   // until the end of the exchange
  boost::unordered_flat_map<base::Label, Histogram> response_by_backend;  // until the first response byte
  std::array<std::array<std::uint64_t, base::cause_count>, 4> closed{};   // [side][cause]
  std::array<std::uint64_t, base::cause_count> retries{};                 // by the cause of the failed attempt

  // [health][cause]: verdicts by this worker about the endpoints that it is home to.
  std::array<std::array<std::uint64_t, base::cause_count>, 5> verdicts{};
  boost::unordered_flat_map<base::Label, std::array<std::uint64_t, 2>> checks;  // by backend: [passed]

  DatagramCounters datagrams;

#define X(member, ...) std::uint64_t member = 0;
  EBB_PLAIN_COUNTERS(X)
  EBB_SUMS(X)
#undef X

  // Gauges, filled in for each scrape.
  ConnectionStates client_connections = {};  // by lifecycle state
  ConnectionStates backend_connections = {};
  std::uint64_t snapshots_alive = 0;
  std::uint64_t generation = 0;
  base::Duration loop_lag_max{};

  // Adds to `requests` and to the two histograms; other code counts the totals above. An exchange without an answer
  // (until_response is zero) is left out of response_by_backend.
  void record(const ExchangeRecord& record);
  void closed_by(base::Side side, base::Cause cause) {
    closed[static_cast<std::size_t>(side)][static_cast<std::size_t>(cause)] += 1;
  }
  void add(const Counters& other);
};

}  // namespace ebb::observe
