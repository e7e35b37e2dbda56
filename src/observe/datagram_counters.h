// Counters of datagrams and flows of one worker; a part of Counters.
#pragma once

#include <array>
#include <cstdint>

#include "base/cause.h"

namespace ebb::observe {

struct DatagramCounters {
  std::uint64_t client_in = 0, client_out = 0;
  std::uint64_t backend_in = 0, backend_out = 0;
  std::array<std::uint64_t, base::cause_count> flows_moved{};  // by why they had to

  // Of those that were dropped.
  std::uint64_t without_endpoint = 0;
  std::uint64_t while_stopping = 0;
  std::uint64_t overrun = 0;  // by the kernel: they came faster than they were read
  std::uint64_t truncated = 0;
  std::uint64_t unsent = 0;  // the kernel had no room, or they were too large for the way

  std::uint64_t flows = 0;  // a gauge

  void add(const DatagramCounters& other) {
    client_in += other.client_in;
    client_out += other.client_out;
    backend_in += other.backend_in;
    backend_out += other.backend_out;
    for (std::size_t i = 0; i < flows_moved.size(); ++i) flows_moved[i] += other.flows_moved[i];
    without_endpoint += other.without_endpoint;
    while_stopping += other.while_stopping;
    overrun += other.overrun;
    truncated += other.truncated;
    unsent += other.unsent;
    flows += other.flows;
  }
};

}  // namespace ebb::observe
