// The HTTP connections of the admin server: from accept to close, one request at a time. Owned by the Server, used on
// its thread only. A connection's life is that of any client connection (lifecycle/client_connection.h), without
// tunnels:
//
//   handshaking -> idle -> reading -> serving -> idle ...    or, after the last answer, lingering -> closed
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admin/access.h"
#include "admin/router.h"
#include "base/slot_map.h"
#include "lifecycle/client_connection.h"
#include "reactor/reactor.h"
#include "serve/door.h"
#include "serve/held_open.h"
#include "wire/h1_head.h"

namespace ebb::admin {

struct Limits {
  std::size_t connections = 1024;           // per listener
  std::size_t connections_per_peer = 256;   // of one address, per listener
  std::size_t connections_for_health = 32;  // beyond `connections`, for /healthz and /readyz only
  std::size_t body_bytes = 65536;
  wire::HeadLimits head = {.head_bytes = 8192, .target_bytes = 2048, .fields = 64};
  base::Duration request = std::chrono::seconds{10};  // from accept, or the last answer, to the end of a request
  base::Duration serve = std::chrono::seconds{90};    // from a request to its answer: some wait for a drain
  base::Duration answer = std::chrono::seconds{10};   // until an answer has reached the kernel
  base::Duration linger = std::chrono::seconds{1};    // for the client to take the last answer
};

class Connections {
 public:
  // `kind`: of the owners that are this room's.
  Connections(reactor::Reactor& reactor, std::shared_ptr<serve::Door> door, const Limits& limits, std::uint32_t kind);

  // Before the first connection; returns the number under which on_accepted() hears of it.
  std::uint32_t add_listener(Access access, Router& router);

  void on_accepted(std::uint32_t listener, reactor::SocketId socket, const base::Address& peer);
  void on_received(base::Handle handle, base::Slice bytes);
  void on_peer_finished(base::Handle handle);
  void on_drained(base::Handle handle);
  void on_failed(base::Handle handle);
  void on_timer(base::Handle handle);
  void on_round_end();

  // Machines that had no row for an event; each such connection was closed.
  std::uint64_t missing_transitions() const { return missing_transitions_; }

  // For the book: those that are not closed, as (handle, socket).
  template <class Callback>
  void for_each_open(Callback&& callback) {
    connections_.for_each([&callback](base::Handle handle, const Connection& connection) {
      if (!connection.life.ended()) callback(handle, connection.socket);
    });
  }

 private:
  friend struct MissingRow;  // a test: tests/admin/pages_test.cc
  using Life = lifecycle::ClientConnectionMachine;
  using State = Life::State;
  using Event = Life::Event;

  struct Listener {
    Access access;
    Router* router;
    std::size_t connections = 0;
    std::size_t health_connections = 0;  // those that are `health_only`
  };
  struct Connection {
    Listener* listener = nullptr;
    base::Address peer;
    bool health_only = false;  // beyond the listener's budget
    base::Instant held_since;  // accepted, or answered for the last time
    reactor::SocketId socket;
    base::Handle handle;
    Life life;
    base::Timer timer;
    std::optional<wire::TlsSession> tls;
    std::string input;           // a request that is not complete yet, and those that wait for their turn
    std::size_t awaited = 0;     // so long must the input be before it is worth reading again
    std::uint32_t exchange = 0;  // which request is being served: a late answer to another one is dropped
    bool answered = false;
    bool keep_alive = true;
    bool head_only = false;
    std::uint8_t minor = 1;
  };

  enum class Room : std::uint8_t { none, health_only, any };
  Room make_room(const Listener& listener, const base::Address& peer);
  template <class Among>
  bool evict(const Listener& listener, Among&& among);
  static std::optional<serve::Held> held(const Connection& connection);
  static std::size_t& budget_of(Connection& connection);
  std::size_t connections_of(const Listener& listener, const base::Address& peer);
  void decrypt(Connection& connection, base::Slice bytes);
  void held_answer(Connection& connection);
  void await_release(Connection& connection);
  static bool held_back(const Connection& connection);
  bool has_left(const Connection& connection) const;
  void take(Connection& connection, std::string_view bytes);
  void await_request(Connection& connection);
  void read_request(Connection& connection);
  bool await_body(Connection& connection, std::size_t head_bytes);
  void serve(Connection& connection, std::size_t head_bytes);
  void refuse(Connection& connection, int status, std::string_view words);
  Respond respond_to(const Connection& connection);
  void answer(Connection& connection, const Answer& answer);
  void answer_sent(Connection& connection);
  void send(Connection& connection, base::Chain&& bytes);
  void step(Connection& connection, Event event);
  void arm(Connection& connection, base::Duration delay);
  void close(Connection& connection);

  reactor::Reactor& reactor_;
  const std::shared_ptr<serve::Door> door_;
  const Limits limits_;
  const std::uint32_t kind_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  base::SlotMap<Connection> connections_;
  std::vector<base::Handle> graves_;  // closed in this round
  std::uint64_t missing_transitions_ = 0;
  wire::RequestHead head_;  // of the request that is being read; large, hence one for all
  wire::ResponseHead response_;
};

}  // namespace ebb::admin
