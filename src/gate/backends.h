// Connections to endpoints: opening, pooling, lending to exchanges, closing. Owns BackendConnection objects; an
// exchange holds a handle to the one that it has leased.
//
// Before: gate/balance. Next: gate/response_path, which reads what the endpoint answers.
#pragma once

#include <vector>

#include "gate/backend_connection.h"
#include "gate/core.h"
#include "gate/endpoints.h"

namespace ebb::gate {

class Backends {
 public:
  explicit Backends(Core& core) : core_(core) {}

  BackendConnection* find(base::Handle handle) { return connections_.find(handle); }

  // A pooled connection, leased to the exchange; an invalid handle if there is none. `look`: ask the kernel once more
  // whether the endpoint has closed it (worth a system call where a failure could not be retried).
  base::Handle lease_idle(EndpointState& endpoint, base::Handle exchange, bool look);
  // Opens one for the exchange; it is told by Exchanges::on_leased or on_backend_failed.
  base::Result<base::Handle> open(base::Handle endpoint, base::Handle exchange, const routes::BackendModel& model);
  // The exchange is over: back to the pool, within its budget.
  void release(base::Handle connection);
  void close(base::Handle connection, base::Cause cause, reactor::CloseMode mode = reactor::CloseMode::drop);
  void close_idle(EndpointState& endpoint, base::Cause cause);
  void close_all(base::Cause cause);

  void on_connected(base::Handle connection);
  void on_received(base::Handle connection, base::Slice bytes);
  void on_peer_finished(base::Handle connection);
  void on_failed(base::Handle connection, const base::Error& error);
  void on_timer(base::Handle connection);

  void bury();
  void count_states(std::uint64_t (&states)[8]);
  std::size_t size() const { return connections_.size() - dead_.size(); }
  template <class Callback>
  void for_each(Callback&& callback) {
    connections_.for_each(callback);
  }

 private:
  using Event = lifecycle::BackendConnectionLife::Event;
  using State = lifecycle::BackendConnectionLife::State;
  void step(BackendConnection& connection, Event event);
  void leave_pool(BackendConnection& connection);

  Core& core_;
  base::SlotMap<BackendConnection> connections_;
  std::vector<base::Handle> dead_;
};

}  // namespace ebb::gate
