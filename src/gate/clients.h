// Connections that clients opened: accepting, TLS, reading heads, sending, lingering, closing. Owns ClientConnection
// objects; what a request means is the exchange's business.
//
// Before: the reactor (and wire/tls, wire/h1_head, which are called from here). Next: gate/exchanges.
#pragma once

#include <memory>
#include <vector>

#include "gate/core.h"
#include "lifecycle/client_connection.h"

namespace ebb::gate {

// A listener as its connections see it; it outlives the listening socket while one of them is open.
struct ListenerState {
  routes::ListenerModel model;
  base::Label label = 0;
  std::shared_ptr<const wire::ServerContext> tls;  // of the newest snapshot; null: plain
  reactor::ListenerId id;
  bool closing = false;  // left the configuration; connections that waited in its queue are still taken
};

struct SecureLayer {
  explicit SecureLayer(std::shared_ptr<const wire::ServerContext> with) : context(std::move(with)), session(*context) {}
  std::shared_ptr<const wire::ServerContext> context;  // the one it began with: a new certificate does not disturb it
  wire::TlsSession session;
};

struct ClientConnection {
  reactor::SocketId socket;
  base::Handle self;
  base::Handle exchange;  // while serving or tunnelling
  lifecycle::ClientConnectionMachine life;
  bool finished = false;  // the client's half is closed: it sends no more, but still reads
  bool queued = false;    // in the list of those with input to look at
  base::Timer timer;
  base::Address peer;
  std::shared_ptr<ListenerState> listener;
  std::unique_ptr<SecureLayer> secure;
  base::Chain input;              // received, not consumed: a partial head, or pipelined requests
  std::size_t unsent_before = 0;  // between exchanges: when the deadline was set; has the client read since?
};

class Clients {
 public:
  explicit Clients(Core& core) : core_(core) {}

  ClientConnection* find(base::Handle handle) { return connections_.find(handle); }

  // For exchanges.
  void send(ClientConnection& client, base::Chain&& plain);
  std::size_t unsent(const ClientConnection& client) const { return core_.reactor.unsent(client.socket); }
  void exchange_kept(ClientConnection& client);  // the next request may come
  // No other request may come: finish, linger unless all that the client will send has been read, close.
  void exchange_last(ClientConnection& client, bool request_whole);
  void close(base::Handle client, base::Cause cause, reactor::CloseMode mode);
  void become_tunnel(ClientConnection& client);
  void finish(ClientConnection& client);  // we send no more; it may

  void accept(const std::shared_ptr<ListenerState>& listener, reactor::SocketId socket, const base::Address& peer);
  void on_received(base::Handle client, base::Slice bytes);
  void on_peer_finished(base::Handle client);
  void on_drained(base::Handle client);
  void on_failed(base::Handle client, const base::Error& error);
  void on_timer(base::Handle client);

  void close_idle(base::Cause cause);
  void close_all(base::Cause cause);
  // Pipelined requests whose turn has come. Not called from inside an event: a burst of answers that we make ourselves
  // would recurse.
  void read_queued();
  void bury();
  void count_states(std::uint64_t (&states)[8]);
  std::size_t size() const { return connections_.size() - dead_.size(); }
  template <class Callback>
  void for_each(Callback&& callback) {
    connections_.for_each(callback);
  }

 private:
  using Event = lifecycle::ClientConnectionLife::Event;
  using State = lifecycle::ClientConnectionLife::State;

  void step(ClientConnection& client, Event event);
  void take_plain(ClientConnection& client, base::Slice bytes);
  bool take_cipher(ClientConnection& client, base::Slice bytes, base::Chain& plain);
  void read_head(ClientConnection& client);
  void refuse(ClientConnection& client, base::Cause cause, const char* why);
  void queue(ClientConnection& client);
  void notify_end(ClientConnection& client);
  void arm_after_exchange(ClientConnection& client, base::Duration once_sent);
  bool still_reads(ClientConnection& client);
  void linger(ClientConnection& client);

  Core& core_;
  base::SlotMap<ClientConnection> connections_;
  std::vector<base::Handle> dead_;
  std::vector<base::Handle> queued_;
};

}  // namespace ebb::gate
