// Counters of datagrams and flows of one worker; a part of Counters.
#pragma once

#include <array>
#include <cstdint>

#include "base/cause.h"

namespace ebb::observe {

struct DatagramCounters {
  std::uint64_t client_in = 0, client_out = 0;
  std::uint64_t backend_in = 0, backend_out = 0;
  std::array<std::uint64_t, base::cause_count> flows_moved{};  // by the cause of the move

  // Reasons for dropped datagrams.
  std::uint64_t without_endpoint = 0;
  std::uint64_t while_stopping = 0;
  std::uint64_t overrun = 0;  // dropped by the kernel: they arrived faster than the worker read them
  std::uint64_t truncated = 0;
  std::uint64_t unsent = 0;  // no room in the kernel, or larger than the path allows

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
