// HTTP/2 with endpoints: a connection carries many exchanges, each on a stream. Owns BackendStream objects, the
// endpoint's half of an exchange; the connection beneath (socket, TLS) stays with gate/backends.
//
// Before: gate/balance. Next: gate/response_path.
#pragma once

#include <string>
#include <vector>

#include "gate/backends.h"
#include "gate/h2_backend_session.h"
#include "lifecycle/backend_stream.h"

namespace ebb::gate {

struct BackendStream {
  base::Handle self;
  base::Handle connection;
  base::Handle exchange;
  lifecycle::BackendStreamMachine life;
  wire::StreamId id = 0;        // of the codec; 0: the request has not begun
  std::size_t unconsumed = 0;   // received, and its window not opened again yet
  base::Instant waits_since{};  // what was to be sent, after nothing had been
  std::uint64_t begins_at = 0;  // bytes of the connection that went before it, or fewer
  std::string upgrade_key;      // Sec-WebSocket-Key of an upgrade that became an extended CONNECT
};

class H2Backends : public Back {
 public:
  explicit H2Backends(Core& core) : core_(core) {}

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
  base::Handle connection_of(base::Handle end) const override;
  std::uint64_t body_left(base::Handle) override { return 0; }
  void pumped(base::Handle, std::uint64_t) override {}
  void release(base::Handle end, bool keep) override;
  void cancel(base::Handle end, base::Cause cause) override;
  bool hand_over(base::Handle end, base::Handle exchange) override;
  void leave(base::Handle end) override { cancel(end, base::Cause::cancelled); }
  void become_tunnel(base::Handle end) override;
  base::Chain early_bytes(base::Handle) override { return {}; }
  void finish(base::Handle end) override;
  void close_tunnel(base::Handle end, base::Cause cause) override;
  reactor::SocketId bare_socket(base::Handle) override { return {}; }

  // A connection that was opened for HTTP/2 is established, or one for either has agreed on HTTP/2. In the second
  // case the exchange that it was opened for is the first to wait.
  void on_established(BackendConnection& connection);
  void adopt(BackendConnection& connection);
  // Of an endpoint that chooses, and has chosen HTTP/2 before: this handshake has agreed on something else.
  bool disagrees(const BackendConnection& connection) const;
  void give_up(BackendConnection& connection);
  void on_received(BackendConnection& connection, base::Slice bytes);
  void on_drained(BackendConnection& connection) { schedule(connection); }
  void on_timer(BackendConnection& connection);
  void ping_unanswered(BackendConnection& connection);
  void on_closed(BackendConnection& connection, base::Cause cause);
  // No new streams on its connections; those without any are closed.
  void retire(LiveEndpoint& endpoint, base::Cause cause);
  bool send_scheduled();
  // Those whose machine had no row for what happened.
  bool end_broken();  // false: there were none
  void bury();

  // From the session, inside on_received() and send_scheduled().
  void on_response(H2BackendSession& session, base::Handle call, const wire::ResponseHead& head);
  void on_payload(H2BackendSession& session, base::Handle call, base::Slice bytes);
  void on_whole(base::Handle call, std::string_view trailers);
  void on_stream_failed(base::Handle call, base::Cause cause, bool unprocessed);
  void on_stream_drained(base::Handle call);

 private:
  using Event = lifecycle::BackendStreamLife::Event;

  void step(BackendStream& call, Event event);
  BackendStream& add_call(BackendConnection& connection, base::Handle exchange);
  void make_session(BackendConnection& connection);
  BackendConnection* with_room(LiveEndpoint& endpoint);
  BackendConnection* connecting(LiveEndpoint& endpoint);
  void begin_serving(BackendConnection& connection);
  static bool may_tunnel(BackendStream& call, const wire::H2Session& codec, const wire::WrittenRequest& head);
  const wire::ResponseHead& as_switching(const BackendStream& call, const wire::ResponseHead& head);
  void end_response(const BackendStream& call, std::string_view trailers);
  void give(BackendStream& call, wire::H2Session& codec, base::Chain&& payload);
  void forget(BackendStream& call);
  void rest(BackendConnection& connection);
  void arm(BackendConnection& connection);
  void schedule(BackendConnection& connection);
  void send_now(BackendConnection& connection);

  Core& core_;
  base::SlotMap<BackendStream> calls_;
  std::vector<base::Handle> scheduled_;
  std::vector<base::Handle> dead_;
  Broken broken_;
  std::string text_;  // of the head in hand, reused
};

}  // namespace ebb::gate
