// HTTP/2 with clients: each stream carries one exchange. Owns ClientStream objects; the connection beneath (socket,
// TLS, deadlines of silence) stays with gate/clients.
//
// Before: gate/clients (by ALPN or prior knowledge), wire/h2. Next: gate/exchanges.
#pragma once

#include <string>
#include <vector>

#include "gate/clients.h"
#include "lifecycle/client_stream.h"

namespace ebb::gate {

struct ClientStream {
  enum class Use : std::uint8_t {
    request,
    handshake,  // an extended CONNECT: what comes behind its head belongs to the tunnel that it asks for
    tunnel
  };
  base::Handle self;
  base::Handle client;
  wire::StreamId id = 0;
  base::Handle exchange;
  lifecycle::ClientStreamMachine life;
  Use use = Use::request;
  bool counted = false;         // the response's head has said how long its body is
  bool touched = false;         // in the list of those whose request is to go on
  std::size_t head_held = 0;    // memory of the request's head
  std::size_t unconsumed = 0;   // received, and its window not opened again yet
  std::size_t discarded = 0;    // received after the response was complete
  base::Instant waits_since{};  // what was to be sent, after nothing had been
  base::Chain early;            // of a tunnel: came before it was there, or with the bytes that are being read

  bool request_whole() const { return lifecycle::ClientStreamLife::request_whole(life.state()); }
  bool response_whole() const { return lifecycle::ClientStreamLife::response_whole(life.state()); }
};

class H2Clients : public Front {
 public:
  explicit H2Clients(Core& core) : core_(core) {}

  // A connection turned out to speak HTTP/2.
  void begin(ClientConnection& client);
  void on_received(ClientConnection& client, base::Slice bytes);
  void on_drained(ClientConnection& client);
  void on_timer(ClientConnection& client);
  void end_streams(ClientConnection& client, base::Cause cause);  // as if their client had left
  void go_away(base::Cause cause);
  // What the events of this round have produced leaves in one piece per connection. False: there was nothing.
  bool send_scheduled();
  // Of a connection without streams.
  void end_idle(ClientConnection& client, base::Cause cause);
  std::size_t early_memory(const ClientConnection& client) const;
  // Those whose machine had no row for what happened.
  bool end_broken();  // false: there were none
  void bury();

  ClientConnection* connection(base::Handle end) override;
  void add_head(base::Handle end, const wire::ResponseHead& head, bool request_whole, base::Chain& out) override;
  void add_payload(base::Handle end, const base::Slice& source, std::uint32_t at, std::uint32_t size,
                   base::Chain& out) override;
  void send_end(base::Handle end, std::string_view trailers, base::Chain&& out) override;
  void flush(base::Handle end, base::Chain&& out) override;
  std::size_t answer(base::Handle end, const OwnAnswer& answer) override;
  std::size_t unsent(base::Handle end) override;
  base::Backlog backlog(base::Handle end) override;
  bool stuck(base::Handle end, std::size_t share) override;
  std::size_t sharing(base::Handle end) override;
  reactor::Receive bulk() const override { return reactor::Receive::piecewise; }
  std::uint64_t body_left(base::Handle) override { return 0; }
  bool takes_trailers(base::Handle end) override;
  bool success_opens_tunnel() const override { return true; }
  void receive(base::Handle end, reactor::Receive mode) override;
  void release(base::Handle end, bool request_whole) override;
  void cut(base::Handle end, base::Cause cause) override;
  void become_tunnel(base::Handle end) override;
  base::Chain early_bytes(base::Handle end) override;
  void finish(base::Handle end) override;
  bool finished(base::Handle end) override;
  base::Instant body_came(base::Handle end) override;
  void close_tunnel(base::Handle end, base::Cause cause) override;
  reactor::SocketId bare_socket(base::Handle) override { return {}; }

  // From the session, inside on_received() and send_scheduled().
  void on_request(base::Handle client, wire::StreamId id, const wire::RequestHead& head);
  void on_request_refused(base::Handle client, wire::StreamId id, base::Cause cause, const char* why);
  void on_payload(base::Handle stream, base::Slice bytes);
  void on_whole(base::Handle stream, std::string_view trailers);
  void on_stream_failed(base::Handle stream, base::Cause cause);
  void on_stream_drained(base::Handle stream);

 private:
  using Event = lifecycle::ClientStreamLife::Event;
  using Use = ClientStream::Use;

  void step(ClientStream& stream, Event event);
  H2ClientSession* session_of(const ClientStream& stream);
  ClientStream& add_stream(ClientConnection& client, wire::StreamId id);
  bool holds_too_many_heads(const H2ClientSession& session) const;
  void refuse_stream(ClientConnection& client, wire::StreamId id, const wire::RequestHead& head);
  bool misdirected(const ClientConnection& client, std::string_view authority) const;
  const wire::RequestHead& as_upgrade(const wire::RequestHead& head);
  std::size_t respond_own(wire::H2Session& codec, wire::StreamId id, const OwnAnswer& answer);
  void limit_early(ClientStream& stream);
  void touch(ClientStream& stream);
  void pass_on(ClientStream& stream);
  void give(ClientStream& stream, wire::H2Session& codec, base::Chain&& payload);
  void discard(ClientStream& stream, std::size_t bytes);
  void detach(ClientStream& stream);
  void forget(ClientStream& stream);
  void schedule(ClientConnection& client);
  void send_now(ClientConnection& client);
  void note_backlog(ClientConnection& client);
  void rest(ClientConnection& client);

  Core& core_;
  base::SlotMap<ClientStream> streams_;
  std::vector<base::Handle> touched_;
  std::vector<base::Handle> scheduled_;
  std::vector<base::Handle> dead_;
  Broken broken_;
  std::string text_;  // of the head in hand, reused
};

}  // namespace ebb::gate
