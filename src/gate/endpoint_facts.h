// What one worker knows of one endpoint at this moment; the control plane adds up those of all workers.
#pragma once

#include <iterator>
#include <optional>
#include <string>

#include "base/address.h"
#include "base/cause.h"
#include "base/clock.h"
#include "gate/check_facts.h"
#include "lifecycle/endpoint.h"
#include "lifecycle/verdict.h"

namespace ebb::gate {

// Work that an endpoint has: it is drained when all are zero on every worker.
struct InFlight {
  std::uint32_t connecting = 0;  // with the TLS handshake
  std::uint32_t sent = 0;        // a request is on its way or waits for its answer
  std::uint32_t streaming = 0;   // the response has begun
  std::uint32_t tunnels = 0;     // upgraded, TCP, passed-through TLS, flows of datagrams
  std::uint32_t cut = 0;         // not in flight any more: ended before its time since the endpoint began to drain

  std::uint32_t total() const { return connecting + sent + streaming + tunnels; }
  void add(const InFlight& other) {
    connecting += other.connecting;
    sent += other.sent;
    streaming += other.streaming;
    tunnels += other.tunnels;
    cut += other.cut;
  }
};

// Since the router started.
struct EndpointTally {
  std::uint64_t requests = 0;
  std::uint64_t failures = 0;  // answered by us instead, or cut short
  std::uint64_t retries = 0;   // sent elsewhere after a failure here
  std::uint64_t trials = 0;    // requests that it was tried with while it was doubted
  std::uint64_t trials_failed = 0;
  std::uint64_t moved = 0;  // requests that left it because it was silent
  std::uint64_t connects = 0;
  std::uint64_t connect_failures = 0;
  std::uint64_t bytes_in = 0;      // from the endpoint
  std::uint64_t bytes_out = 0;     // to it
  std::uint64_t by_class[6] = {};  // responses of 1xx to 5xx, at their first digit

  void add(const EndpointTally& other) {
    requests += other.requests;
    failures += other.failures;
    retries += other.retries;
    trials += other.trials;
    trials_failed += other.trials_failed;
    moved += other.moved;
    connects += other.connects;
    connect_failures += other.connect_failures;
    bytes_in += other.bytes_in;
    bytes_out += other.bytes_out;
    for (std::size_t i = 0; i < std::size(by_class); ++i) by_class[i] += other.by_class[i];
  }
};

struct EndpointFacts {
  std::string backend;
  std::string name;
  std::uint64_t identity = 0;
  base::Address address;
  std::uint32_t weight = 1;
  std::uint32_t work_max = 0;  // on all workers together; 0: no such limit
  lifecycle::Membership membership = lifecycle::Membership::present;
  lifecycle::Wish wish = lifecycle::Wish::ready;
  lifecycle::Health health = lifecycle::Health::up;
  base::Cause why = base::Cause::none;  // of its health
  lifecycle::Doubt doubt = lifecycle::Doubt::none;
  base::WallTime since;  // when any of the three last changed
  InFlight in_flight;
  std::uint32_t connections = 0;  // open or opening, idle ones too
  std::uint32_t idle = 0;
  EndpointTally tally;
  std::optional<CheckFacts> check;  // from the worker that checks it
};

// Requests of one backend that wait for an endpoint on this worker.
struct BackendFacts {
  std::string name;
  std::uint32_t queued = 0;
  std::uint64_t queued_ever = 0;
  std::uint64_t queue_timeouts = 0;
};

}  // namespace ebb::gate
