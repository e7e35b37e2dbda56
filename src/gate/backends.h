// Connections to endpoints: opening, pooling, lending to exchanges, closing. Owns BackendConnection objects; an
// exchange holds a handle to the one that it has leased.
//
// Before: gate/balance. Next: gate/response_path, which reads what the endpoint answers.
#pragma once

#include <vector>

#include "gate/back.h"
#include "gate/backend_connection.h"
#include "gate/core.h"
#include "gate/endpoints.h"

namespace ebb::gate {

class Backends : public Back {
 public:
  explicit Backends(Core& core) : core_(core) {}

  BackendConnection* find(base::Handle handle) { return connections_.find(handle); }

  base::Handle lease(LiveEndpoint& endpoint, base::Handle exchange, bool look) override;
  base::Result<base::Handle> open(base::Handle endpoint, base::Handle exchange, const BackendTarget& target) override;
  bool add_head(base::Handle end, const wire::WrittenRequest& head, wire::Method method, bool whole,
                base::Chain& out) override;
  void add_payload(base::Handle end, const base::Slice& payload, wire::Framing framing, base::Chain& out) override;
  void add_end(base::Handle end, std::string_view trailers, wire::Framing framing, base::Chain& out) override;
  void flush(base::Handle end, base::Chain&& out) override;
  std::size_t unsent(base::Handle end) override;
  base::Backlog backlog(base::Handle end) override;
  bool stuck(base::Handle end, std::size_t share) override;
  std::size_t memory(base::Handle end) override;
  void receive(base::Handle end, reactor::Receive mode) override;
  bool has_deadline(base::Handle end) override;
  bool unanswered(base::Handle end) override;
  base::Handle connection_of(base::Handle end) const override { return end; }
  std::uint64_t body_left(base::Handle end) override;
  void pumped(base::Handle end, std::uint64_t bytes) override;
  void release(base::Handle end, bool keep) override;
  void cancel(base::Handle end, base::Cause cause) override { close(end, cause); }
  bool hand_over(base::Handle end, base::Handle exchange) override;
  void leave(base::Handle end) override;
  void become_tunnel(base::Handle end) override;
  base::Chain early_bytes(base::Handle end) override;
  void finish(base::Handle end) override;
  void close_tunnel(base::Handle end, base::Cause cause) override { close(end, cause, reactor::CloseMode::flush); }
  reactor::SocketId bare_socket(base::Handle end) override;

  // For HTTP/2 sessions too: a connection, and bytes through TLS, if there is TLS, to its socket.
  base::Result<base::Handle> connect(base::Handle endpoint, const BackendTarget& target);
  void send(BackendConnection& connection, base::Chain&& plain);
  bool acknowledges(const BackendConnection& connection);  // the endpoint's kernel, if not the endpoint
  void multiplexed(BackendConnection& connection);         // it has begun to carry streams
  void close(base::Handle connection, base::Cause cause, reactor::CloseMode mode = reactor::CloseMode::drop);
  void close_idle(LiveEndpoint& endpoint, base::Cause cause);
  void close_all(base::Cause cause);
  // Everything that is open to the endpoint; exchanges are told.
  void fail_all(base::Handle endpoint, base::Cause cause);

  void on_connected(base::Handle connection);
  void on_received(base::Handle connection, base::Slice bytes);
  void on_peer_finished(base::Handle connection);
  void on_drained(base::Handle connection);
  void on_pumped(base::Handle connection, std::uint64_t moved, bool done);
  void on_failed(base::Handle connection, const base::Error& error);
  void on_timer(base::Handle connection);
  // False: its time to be established is over, with TLS and HTTP/2 too.
  bool may_take_longer(BackendConnection& connection);

  // Those whose machine had no row for what happened.
  bool end_broken();  // false: there were none
  void bury();
  void count_states(observe::ConnectionStates& states);
  std::size_t size() const { return connections_.size() - dead_.size(); }
  template <class Callback>
  void for_each(Callback&& callback) {
    connections_.for_each(callback);
  }
  template <class Callback>
  std::uint32_t for_some(std::uint32_t from, std::uint32_t most, Callback&& callback) {
    return connections_.for_some(from, most, callback);
  }

 private:
  friend struct MissingRow;
  using Event = lifecycle::BackendConnectionLife::Event;
  using State = lifecycle::BackendConnectionLife::State;
  void step(BackendConnection& connection, Event event);
  void note_written(BackendConnection& connection, std::uint64_t bytes);
  void note_fin(BackendConnection& connection);
  void note_idle_close(const BackendConnection& connection);
  void established(BackendConnection& connection);
  void fail(BackendConnection& connection, base::Cause cause);
  void take_plain(BackendConnection& connection, base::Slice bytes);
  bool read_heads(BackendConnection& connection);
  void read_body(BackendConnection& connection);
  void leave_pool(BackendConnection& connection);

  Core& core_;
  base::SlotMap<BackendConnection> connections_;
  Broken broken_;
  std::vector<base::Handle> dead_;
};

}  // namespace ebb::gate
