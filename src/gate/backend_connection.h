// A connection to an endpoint, as its owner (gate/backends) and the pool of its endpoint (gate/endpoints) see it.
#pragma once

#include <memory>
#include <optional>

#include "base/block.h"
#include "base/list.h"
#include "base/timer_wheel.h"
#include "gate/h2_backend_session.h"
#include "gate/transport.h"
#include "lifecycle/backend_connection.h"
#include "lifecycle/idle_budget.h"
#include "wire/h1_body.h"
#include "wire/h1_head.h"

namespace ebb::gate {

struct IdleTag;
using BackendState = lifecycle::BackendConnectionLife::State;

// What is read of an HTTP/1 endpoint's answer.
struct H1Answer {
  wire::Method asked = wire::Method::other;
  bool heard = false;     // a byte of it has come
  bool has_head = false;  // the final one has been read
  bool keeps = true;      // it lets the connection be used again
  wire::BodyReader body;
};

struct BackendConnection : Transport, base::ListNode<IdleTag> {
  base::Handle self;
  base::Handle endpoint;
  base::Handle exchange;  // HTTP/1: while connecting, leased or tunnelling
  lifecycle::BackendConnectionMachine life;
  base::Timer timer;
  base::Duration idle_time{};
  lifecycle::IdleLimits idle_limits;
  std::uint32_t streams_max = 0;   // HTTP/2: at a time
  base::Duration max_age{};        // HTTP/2: then no new stream
  base::Instant established_by{};  // TLS and HTTP/2 too, while an exchange waits for that
  std::uint32_t manner = 0;        // BackendTarget::manner: others are not lent any more
  bool for_one = false;            // a PROXY header names its one client: nobody else is served on it
  base::Instant idle_since{};
  base::Instant asked_since = base::Instant::max();  // written to, and nothing came since; max: not so
  base::Instant peer_asked = base::Instant::max();   // by keepalive probes, because the endpoint is out of reach
  std::uint64_t handed = 0;                          // bytes given to the socket, those of TLS too
  std::uint64_t request_at = 0;                      // HTTP/1: of them, before the request that it carries
  std::optional<std::uint64_t> delivered;            // when its FIN came: what the endpoint had received by then
  base::Slice preface;                               // until it is connected: the header of the PROXY protocol
  base::Chain input;                                 // HTTP/1: received, not yet understood: a partial head
  H1Answer answer;                                   // HTTP/1: to the request that it carries
  std::unique_ptr<H2BackendSession> h2;
};

}  // namespace ebb::gate
