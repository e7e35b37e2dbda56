// Connections that clients opened: accepting, TLS, reading heads, sending, lingering, closing. Owns ClientConnection
// objects; what a request means is the exchange's business. Speaks HTTP/1 itself; a connection that turns out to
// carry HTTP/2 gets a session of gate/h2_clients.
//
// Before: the reactor (and wire/tls, wire/h1_head, which are called from here). Next: gate/exchanges.
#pragma once

#include <memory>
#include <vector>

#include "gate/core.h"
#include "gate/front.h"
#include "gate/h2_client_session.h"
#include "gate/idle_clients.h"
#include "gate/transport.h"
#include "lifecycle/client_connection.h"
#include "wire/client_hello.h"
#include "wire/h1_body.h"
#include "wire/h2_preface.h"

namespace ebb::gate {

// A listener as its connections see it; it outlives the listening socket while one of them is open.
struct OpenListener {
  routes::ListenerModel model;
  base::Label label = 0;
  std::shared_ptr<const wire::ServerContext> tls;  // of the newest snapshot; null: plain
  reactor::ListenerId id;
  base::Address address{};       // of its socket: the model's, or a narrower one that was open before
  routes::AddressSet proxies{};  // peers that begin with a header of the PROXY protocol
  bool looks_at_names = false;   // some TLS is passed through: the ClientHello decides
  bool prepared = false;         // for a configuration that is not applied yet: serves nobody
  bool closing = false;          // left the configuration; connections that waited in its queue are still taken
  std::shared_ptr<WaitingClients> waiting =
      std::make_shared<WaitingClients>();  // stays with the listener over configurations
};

struct ClientConnection : Transport {
  base::Handle self;
  base::Handle exchange;  // HTTP/1, while serving or tunnelling
  base::Address peer;     // who the client is: the hop before us, or whom that hop speaks for
  lifecycle::ClientConnectionMachine life;
  bool finished = false;      // the client's half is closed: it sends no more, but still reads
  bool queued = false;        // in the list of those with input to look at
  bool backed_up = false;     // between exchanges: too many answers wait, so that no more requests are read
  bool answer_waits = false;  // between exchanges: of the last answers not all has left; then its idle time begins
  bool awaits_proxy_header = false;
  bool spoke = false;                                   // before its first request
  bool counted = false;                                 // in ClientLimits
  std::uint8_t minor = 1;                               // HTTP/1.minor of the request in hand
  bool wants_keep = true;                               // its wish for the connection
  bool keeps = true;                                    // what the response's head promised
  bool chunked = false;                                 // how the response's body is written
  bool close_delimited = false;                         // only the close tells the client that it is over
  base::Cause parts_by = base::Cause::close_requested;  // while lingering
  base::Timer timer;
  base::Instant opened;
  base::Instant changed;                       // its state, last
  std::unique_ptr<base::Address> destination;  // what the client connected to, if a hop before us has said so
  std::shared_ptr<OpenListener> listener;
  std::unique_ptr<H2ClientSession> h2;
  base::Chain input;                       // received, not consumed: a partial head, or pipelined requests
  wire::BodyReader body;                   // HTTP/1: of the request in hand
  std::size_t encoder_bytes = 0;           // memory of the encoders of its responses
  std::unique_ptr<WaitingClient> waiting;  // of IdleClients, where something is limited

  std::string_view protocol() const { return h2 ? "HTTP/2" : minor == 0 ? "HTTP/1.0" : "HTTP/1.1"; }
};

class Clients : public Front {
 public:
  explicit Clients(Core& core) : core_(core), idle_(core.random.next()) {}

  ClientConnection* find(base::Handle handle) { return connections_.find(handle); }

  ClientConnection* connection(base::Handle end) override { return find(end); }
  void add_head(base::Handle end, const wire::ResponseHead& head, bool request_whole, base::Chain& out) override;
  void add_payload(base::Handle end, const base::Slice& source, std::uint32_t at, std::uint32_t size,
                   base::Chain& out) override;
  void send_end(base::Handle end, std::string_view trailers, base::Chain&& out) override;
  void flush(base::Handle end, base::Chain&& out) override;
  std::size_t answer(base::Handle end, const OwnAnswer& answer) override;
  std::size_t unsent(base::Handle end) override;
  base::Backlog backlog(base::Handle end) override;
  bool stuck(base::Handle end, std::size_t share) override;
  std::size_t sharing(base::Handle) override { return 1; }
  std::uint64_t body_left(base::Handle end) override;
  bool takes_trailers(base::Handle) override { return false; }  // its client has asked for none
  bool success_opens_tunnel() const override { return false; }
  reactor::Receive bulk() const override { return core_.bulk(); }
  void receive(base::Handle end, reactor::Receive mode) override;
  void release(base::Handle end, bool request_whole) override;
  void cut(base::Handle end, base::Cause cause) override;
  void become_tunnel(base::Handle end) override;
  base::Chain early_bytes(base::Handle end) override;
  void finish(base::Handle end) override;
  bool finished(base::Handle end) override;
  void close_tunnel(base::Handle end, base::Cause cause) override { close(end, cause, reactor::CloseMode::flush); }
  reactor::SocketId bare_socket(base::Handle end) override;

  // For HTTP/2 sessions too: bytes through TLS, if there is TLS, to the socket.
  void send(ClientConnection& client, base::Chain&& plain);
  // All is said on both sides: we finish, and wait for the client to do so.
  void part(ClientConnection& client, base::Cause cause);
  // Memory that the connection itself holds, without its exchanges.
  std::size_t memory(const ClientConnection& client) const;
  void close(base::Handle client, base::Cause cause, reactor::CloseMode mode);
  // Its deadline while no exchange has one: how long the client may read nothing or, once all is sent, `once_sent`.
  void arm_after_exchange(ClientConnection& client, base::Duration once_sent);
  // When that deadline has come. False: the client reads nothing, or all is sent.
  bool still_reads(ClientConnection& client);

  void accept(const std::shared_ptr<OpenListener>& listener, reactor::SocketId socket, const base::Address& peer);
  void on_received(base::Handle client, base::Slice bytes);
  void on_peer_finished(base::Handle client);
  void on_end_in_sight(base::Handle client);
  void on_drained(base::Handle client);
  void on_pumped(base::Handle client, std::uint64_t moved, bool done);
  void on_failed(base::Handle client, const base::Error& error);
  void on_timer(base::Handle client);

  // False: there is no such connection.
  bool end(base::Handle client, base::Cause cause);
  void close_idle(base::Cause cause);
  // It waits for a request, or does so no more.
  void begins_to_wait(ClientConnection& client);
  void has_work(ClientConnection& client) {
    if (client.waiting != nullptr) idle_.leave(client);
  }
  void close_all(base::Cause cause);
  // Pipelined requests whose turn has come. Not called from inside an event: a burst of answers that we make ourselves
  // would recurse.
  void read_queued();
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
  using Event = lifecycle::ClientConnectionLife::Event;
  using State = lifecycle::ClientConnectionLife::State;

  void step(ClientConnection& client, Event event);
  void take_encrypted(ClientConnection& client, base::Slice bytes);
  void take_plain(ClientConnection& client, base::Slice bytes);
  void secured(ClientConnection& client);
  void speak_h2(ClientConnection& client);
  void begin_h2(ClientConnection& client);
  void tls_failed(ClientConnection& client, base::Cause cause);
  void read_head(ClientConnection& client);
  void take_body(ClientConnection& client, base::Chain& bytes);
  void refuse(ClientConnection& client, base::Cause cause, const char* why);
  std::size_t send_own(ClientConnection& client, const OwnAnswer& answer, bool keep);
  void queue(ClientConnection& client);
  void await_request(ClientConnection& client);
  void linger(ClientConnection& client);
  void await_fin(ClientConnection& client);

  // greeting.cc
  void greet(ClientConnection& client);
  void after_proxy_header(ClientConnection& client);
  void take_greeting(ClientConnection& client, base::Slice bytes);
  void look_at_name(ClientConnection& client);
  void log_greeting(const ClientConnection& client, base::Cause cause);
  void refuse_name(ClientConnection& client, wire::Alert alert, std::string_view name);
  void begin_plain(ClientConnection& client);
  void begin_tls(ClientConnection& client);
  void begin_bytes(ClientConnection& client, const routes::Route* route, std::string_view backend,
                   std::string_view server_name);

  Core& core_;
  IdleClients idle_;
  base::SlotMap<ClientConnection> connections_;
  Broken broken_;
  std::vector<base::Handle> dead_;
  std::vector<base::Handle> queued_;
  std::string text_;  // of an answer of our own, reused
};

}  // namespace ebb::gate
