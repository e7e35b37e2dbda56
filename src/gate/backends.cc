#include "gate/backends.h"

#include "gate/exchanges.h"

namespace ebb::gate {

using base::Cause;
using base::Handle;
using base::Side;
using reactor::CloseMode;
using reactor::Receive;

void Backends::step(BackendConnection& connection, Event event) {
  if (!connection.life.step(event)) core_.counters.missing_transitions += 1;
}

Handle Backends::lease_idle(EndpointState& endpoint, Handle exchange, bool look) {
  while (BackendConnection* connection = endpoint.pool.front()) {
    if (look && core_.reactor.peer_gone(connection->socket)) {
      close(connection->self, Cause::backend_idle_closed);
      continue;
    }
    leave_pool(*connection);
    step(*connection, Event::lease);
    connection->exchange = exchange;
    connection->timer.disarm();
    core_.counters.backend_reused += 1;
    return connection->self;
  }
  return {};
}

base::Result<Handle> Backends::open(Handle endpoint_handle, Handle exchange, const routes::BackendModel& model) {
  EndpointState& endpoint = *core_.endpoints->find(endpoint_handle);
  const Handle self = connections_.emplace();
  BackendConnection& connection = *connections_.find(self);
  auto socket = core_.reactor.connect(endpoint.address, {owner_backend, self});
  if (!socket) {
    connections_.erase(self);
    return std::unexpected(socket.error());
  }
  connection.socket = *socket;
  connection.self = self;
  connection.endpoint = endpoint_handle;
  connection.exchange = exchange;
  connection.idle_time = model.idle_timeout;
  connection.idle_limit = model.idle_per_endpoint;
  connection.timer.set_owner({owner_backend, self});
  endpoint.connections += 1;
  core_.counters.backend_opened += 1;
  core_.arm(connection.timer, model.connect_timeout);
  return self;
}

void Backends::release(Handle handle) {
  BackendConnection& connection = *connections_.find(handle);
  EndpointState& endpoint = *core_.endpoints->find(connection.endpoint);
  connection.exchange = {};
  connection.served += 1;
  if (!endpoint.listed || endpoint.wish != routes::EndpointState::ready || core_.stopping) {
    return close(handle, core_.stopping ? Cause::shutdown : Cause::endpoint_gone);
  }
  if (connection.idle_limit == 0) return close(handle, Cause::backend_idle_budget);
  step(connection, Event::release);
  if (endpoint.idle >= connection.idle_limit) close(endpoint.pool.back()->self, Cause::backend_idle_budget);
  endpoint.pool.push_front(connection);
  endpoint.idle += 1;
  core_.arm(connection.timer, connection.idle_time);
  core_.reactor.receive(connection.socket, Receive::piecewise);  // to see the endpoint's FIN
}

void Backends::leave_pool(BackendConnection& connection) {
  if (!connection.linked()) return;
  connection.unlink();
  core_.endpoints->find(connection.endpoint)->idle -= 1;
}

void Backends::close(Handle handle, Cause cause, CloseMode mode) {
  BackendConnection* connection = connections_.find(handle);
  if (connection == nullptr || connection->life.ended()) return;
  step(*connection, Event::ended);
  leave_pool(*connection);
  connection->timer.disarm();
  connection->input.clear();
  core_.reactor.close(connection->socket, mode);
  core_.counters.closed_by(Side::backend, cause);
  core_.endpoints->find(connection->endpoint)->connections -= 1;
  dead_.push_back(handle);
}

void Backends::close_idle(EndpointState& endpoint, Cause cause) {
  while (BackendConnection* connection = endpoint.pool.front()) close(connection->self, cause);
}

void Backends::close_all(Cause cause) {
  std::vector<Handle> all;
  connections_.for_each([&all](Handle handle, BackendConnection&) { all.push_back(handle); });
  for (const Handle handle : all) close(handle, cause);
}

void Backends::on_connected(Handle handle) {
  BackendConnection* connection = connections_.find(handle);
  if (connection == nullptr || connection->life.ended()) return;
  step(*connection, Event::connected);
  connection->timer.disarm();
  core_.reactor.receive(connection->socket, Receive::piecewise);
  core_.exchanges->on_leased(connection->exchange, handle);
}

void Backends::on_received(Handle handle, base::Slice bytes) {
  BackendConnection* connection = connections_.find(handle);
  if (connection == nullptr || connection->life.ended()) return;
  core_.counters.backend_bytes_in += bytes.size();
  // An endpoint that speaks without being asked (RFC 9112 9.2: some send 408 before they close) is not used again.
  if (connection->life.is(State::idle)) return close(handle, Cause::backend_bad_response);
  core_.exchanges->on_response_bytes(connection->exchange, std::move(bytes));
}

void Backends::on_peer_finished(Handle handle) {
  BackendConnection* connection = connections_.find(handle);
  if (connection == nullptr || connection->life.ended()) return;
  if (connection->life.is(State::idle)) return close(handle, Cause::backend_idle_closed);
  core_.exchanges->on_backend_finished(connection->exchange);
}

void Backends::on_failed(Handle handle, const base::Error& error) {
  BackendConnection* connection = connections_.find(handle);
  if (connection == nullptr || connection->life.ended()) return;
  const Handle exchange = connection->exchange;
  const bool was_idle = connection->life.is(State::idle);
  close(handle, was_idle ? Cause::backend_idle_closed : error.cause);
  if (!was_idle) core_.exchanges->on_backend_failed(exchange, error.cause);
}

void Backends::on_timer(Handle handle) {
  BackendConnection* connection = connections_.find(handle);
  if (connection == nullptr || connection->life.ended()) return;
  if (connection->life.is(State::idle)) return close(handle, Cause::backend_idle_timeout);
  const Handle exchange = connection->exchange;
  close(handle, Cause::backend_connect_timeout);
  core_.exchanges->on_backend_failed(exchange, Cause::backend_connect_timeout);
}

void Backends::bury() {
  for (const Handle handle : dead_) {
    const Handle endpoint = connections_.find(handle)->endpoint;
    connections_.erase(handle);
    core_.endpoints->settle(endpoint);
  }
  dead_.clear();
}

void Backends::count_states(std::uint64_t (&states)[8]) {
  connections_.for_each([&states](Handle, BackendConnection& connection) {
    if (!connection.life.ended()) states[static_cast<std::size_t>(connection.life.state())] += 1;
  });
}

}  // namespace ebb::gate
