// What one worker counts: plain numbers, written by that worker only. The scraper asks each worker by message for a
// copy and adds the copies up; nothing is shared.
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
  using is_avalanching = void;  // all bits are mixed already: the map need not do it again
  std::size_t operator()(const SeriesKey& key) const;
};

// Powers of two in microseconds, from 64 us to 67 s; the last bucket takes the rest.
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

struct Counters {
  static constexpr std::size_t series_max = 20'000;  // of `requests`, per worker

  boost::unordered_flat_map<SeriesKey, std::uint64_t, SeriesKeyHash> requests;
  boost::unordered_flat_map<base::Label, Histogram> latency_by_backend;   // total
  boost::unordered_flat_map<base::Label, Histogram> response_by_backend;  // until the first response byte
  std::array<std::array<std::uint64_t, base::cause_count>, 4> closed{};   // [side][cause]
  std::array<std::uint64_t, base::cause_count> retries{};                 // by the cause that made it necessary

  std::uint64_t retries_refused = 0;  // by the backend's budget
  // [health][cause]: what this worker has found as the home of endpoints.
  std::array<std::array<std::uint64_t, base::cause_count>, 5> verdicts{};
  boost::unordered_flat_map<base::Label, std::array<std::uint64_t, 2>> checks;  // by backend: [passed]

  std::uint64_t client_accepted = 0;
  std::uint64_t backend_opened = 0;
  std::uint64_t backend_reused = 0;
  std::uint64_t client_bytes_in = 0, client_bytes_out = 0;
  std::uint64_t backend_bytes_in = 0, backend_bytes_out = 0;
  std::uint64_t tls_handshakes = 0, tls_resumed = 0;  // all that were completed; those of them that were resumed
  std::uint64_t mirrors_answered = 0, mirrors_failed = 0, mirrors_left_out = 0;
  std::uint64_t sticky_bound = 0, sticky_stayed = 0, sticky_moved = 0;
  DatagramCounters datagrams;
  std::uint64_t replay_copies_dropped = 0;  // to save buffers
  std::uint64_t compressions_left_out = 0;  // by the budget of encoders
  std::uint64_t log_lines_dropped = 0;
  std::uint64_t missing_transitions = 0;  // a machine met a pair that its table does not have
  std::uint64_t lost_handles = 0;         // what had to be there was gone

  // Gauges: filled in when asked.
  ConnectionStates client_connections = {};  // by lifecycle state
  ConnectionStates backend_connections = {};
  std::uint64_t exchanges = 0;
  std::uint64_t requests_held = 0;  // of them, without an endpoint
  std::uint64_t buffer_bytes = 0;
  std::uint64_t snapshots_alive = 0;
  std::uint64_t generation = 0;
  std::uint64_t loop_rounds = 0, receives = 0, sends = 0, spliced_bytes = 0;
  std::uint64_t accepts_failed = 0;
  base::Duration loop_lag_max{};

  // Adds to `requests` and to the two histograms; the totals above are kept by those who see the events. Not
  // answered at all (until_response is zero): not in response_by_backend.
  void record(const ExchangeRecord& record);
  void closed_by(base::Side side, base::Cause cause) {
    closed[static_cast<std::size_t>(side)][static_cast<std::size_t>(cause)] += 1;
  }
  void add(const Counters& other);
};

}  // namespace ebb::observe
