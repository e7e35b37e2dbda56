// Sockets and samples as tests want them.
#pragma once

#include "census/census.h"

namespace ebb::census {

inline base::Address address(std::string_view text) { return *base::Address::parse(text); }

// Open, held by a program, its options read, quiet for as long as is said.
inline Socket established(std::int64_t quiet_ms = 0) {
  const auto ms = static_cast<std::uint32_t>(quiet_ms);
  Socket socket{.cookie = 1,
                .local = address("10.0.0.1:40000"),
                .peer = address("10.0.0.2:443"),
                .state = State::established,
                .inode = 77,
                .has_info = true,
                .rto_us = 200'000,
                .rtt_us = 500,
                .rtt_variance_us = 100,
                .last_sent_ms = ms,
                .last_received_ms = ms,
                .last_acknowledged_ms = ms,
                .segments_sent = 5,
                .segments_received = 5};
  socket.options.known = true;
  return socket;
}

// Sent something that is not acknowledged: `count` time-outs so far, the next one in `timer_ms`.
inline Socket stalled(std::uint8_t count, std::uint32_t stalled_ms, std::uint32_t rto_ms, std::uint32_t timer_ms) {
  Socket socket = established(stalled_ms + 400);
  socket.timer = Timer::retransmit;
  socket.timer_count = socket.retransmits = socket.backoff = count;
  socket.timer_ms = timer_ms;
  socket.rto_us = rto_ms * 1000;
  socket.unacknowledged = 1;
  socket.stalls = count > 0 ? 1 : 0;
  socket.stalled_ms = stalled_ms;
  return socket;
}

inline Socket with_keepalive(std::uint32_t idle_s, std::uint32_t interval_s, std::uint8_t probes,
                             std::int64_t quiet_ms) {
  Socket socket = established(quiet_ms);
  socket.timer = Timer::keepalive;
  socket.timer_ms = static_cast<std::uint32_t>(std::max<std::int64_t>(0, std::int64_t{idle_s} * 1000 - quiet_ms));
  socket.options.keepalive = true;
  socket.options.keepalive_idle_s = idle_s;
  socket.options.keepalive_interval_s = interval_s;
  socket.options.keepalive_probes = probes;
  return socket;
}

inline Sample sample_of(std::vector<Socket> sockets) {
  Sample sample;
  sample.at = base::WallTime(std::chrono::seconds(1'800'000'000));
  sample.spaces.push_back({"this", {}});
  sample.processes.push_back({4242, "client"});
  sample.sockets = std::move(sockets);
  for (std::uint32_t i = 0; i < sample.sockets.size(); ++i) {
    sample.sockets[i].cookie = i + 1;
    if (sample.sockets[i].inode != 0) sample.sockets[i].process = 0;
    sample.sockets[i].fd = i + 3;
  }
  return sample;
}

inline Census census_of(std::vector<Socket> sockets) {
  Sample sample = sample_of(std::move(sockets));
  History history;
  history.add(sample);
  return classify_all(std::move(sample), history, {}, {});
}

}  // namespace ebb::census
