// A connection to an endpoint, as its owner (gate/backends) and the pool of its endpoint (gate/endpoints) see it.
#pragma once

#include "base/block.h"
#include "base/list.h"
#include "base/timer_wheel.h"
#include "lifecycle/backend_connection.h"
#include "reactor/reactor.h"

namespace ebb::gate {

struct IdleTag;

struct BackendConnection : base::ListNode<IdleTag> {
  reactor::SocketId socket;
  base::Handle self;
  base::Handle endpoint;
  base::Handle exchange;  // while connecting, leased or tunnelling
  lifecycle::BackendConnectionMachine life;
  base::Timer timer;
  base::Duration idle_time{};
  std::uint32_t idle_limit = 0;
  std::uint32_t served = 0;
  base::Chain input;  // received, not yet understood: a partial head
};

}  // namespace ebb::gate
