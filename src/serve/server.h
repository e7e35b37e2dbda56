// A small server: listeners, connections, deadlines, budgets, TLS. Each listener plugs in its protocol (protocol.h).
// Owned by the reactor's owner; used on the reactor's thread, except door().
//
//   bytes ──▶ TLS ──▶ Protocol::take ──▶ TLS ──▶ bytes      settle(): what does it wait for now, and for how long?
//
// Each listener has its own budget, of which each peer may use a part. When a budget is used up, a waiting connection
// makes room (held_open.h). While output waits for its reader, the server reads no input and the deadline runs.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/slot_map.h"
#include "reactor/epoll.h"
#include "serve/alarms.h"
#include "serve/connection_life.h"
#include "serve/door.h"
#include "serve/held_open.h"
#include "serve/protocol.h"
#include "wire/tls.h"

namespace ebb::serve {

struct Budget {
  std::size_t connections = 1024;
  std::size_t per_peer = SIZE_MAX;  // of one address
  std::size_t reserve = 0;          // beyond `connections`: accepted, and told so (Arrival)
};

struct TimeLimits {
  base::Duration first = std::chrono::seconds{10};    // from accept to the first request
  base::Duration request = std::chrono::seconds{10};  // from an answer to the next request
  base::Duration rest_of_request = std::chrono::seconds{10};
  base::Duration work = std::chrono::seconds{90};
  base::Duration tunnel = std::chrono::minutes{5};  // without a byte from the client
  base::Duration write = std::chrono::seconds{10};  // until the output has reached the kernel
  base::Duration part = std::chrono::seconds{1};    // for the client to read the last answer; 0: close at once
};

class Server;

// From any thread to a protocol: the task runs on the server's thread, unless the connection has closed.
class WayBack {
 public:
  using Task = std::move_only_function<void(base::Chain& out)>;  // appends its output
  WayBack(std::shared_ptr<Door> door, Server& server, base::Handle connection)
      : door_(std::move(door)), server_(&server), connection_(connection) {}
  void post(Task task) const;

 private:
  std::shared_ptr<Door> door_;
  Server* server_;
  base::Handle connection_;
};

struct Arrival {
  base::Address peer;
  std::uint16_t port = 0;   // the server's
  bool in_reserve = false;  // the rest of the budget is used up
  std::string_view alpn{};  // "" without TLS
  bool secured = false;
  WayBack way_back;
};

// A listener's protocol and limits.
struct Service {
  std::function<std::unique_ptr<Protocol>(const Arrival& arrival)> speak;
  std::shared_ptr<const wire::ServerContext> tls = {};  // null: plain
  bool plain_too = false;                               // also accept clients that do not begin with a handshake
  Budget budget = {};
  TimeLimits times = {};
  // While the client's TLS message is incomplete, nothing can be sent to it.
  std::size_t held_max = SIZE_MAX;               // bytes of answers that wait for it
  std::size_t kept_max = std::size_t{72} << 10;  // bytes of later requests after it
};

class Server final : public reactor::Handler {
 public:
  explicit Server(reactor::EpollReactor& reactor);
  ~Server() override { door_->shut(); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Call before the reactor runs. Listeners of one number share its budget.
  std::uint32_t offer(Service service);
  base::Result<reactor::ListenerId> listen(std::uint32_t number, const base::Address& address);
  base::Result<reactor::ListenerId> listen_at(std::uint32_t number, reactor::Descriptor listening);

  // Refuses new connections, gives running requests `grace` to end, and stops the reactor.
  void leave(base::Duration grace);
  std::size_t connections() const { return connections_.size(); }

  const std::shared_ptr<Door>& door() const { return door_; }
  Alarms& alarms() { return alarms_; }
  // Events without a row in a machine's table; each closed its connection.
  std::uint64_t missing_transitions() const { return missing_transitions_; }

  // For the self-audit. Connections that are not closed, as (owner, socket).
  template <class Callback>
  void for_each_open(Callback&& callback) {
    connections_.for_each([&callback](base::Handle, const Connection& one) {
      if (!one.life.ended()) callback(one.owner, one.socket);
    });
  }
  static std::uint32_t number_of(base::Owner owner) { return owner.kind / kinds; }  // of the service

 private:
  friend class WayBack;
  friend struct MissingRow;  // for a test: tests/admin/pages_test.cc
  using State = ConnectionMachine::State;
  using Event = ConnectionMachine::Event;
  using Waiting = Protocol::Waiting;
  enum Kind : std::uint32_t { listener, connection, alarm, kinds };  // an owner's kind, per service

  struct Offered {
    explicit Offered(Service what) : service(std::move(what)) {}
    Service service;
    std::size_t connections = 0;
    std::size_t in_reserve = 0;
  };
  // The timer's reason: arming for the same reason again gives no more time.
  struct Armed {
    Waiting waiting = Waiting::request;
    std::uint64_t turn = 0;
    bool stuck = false;
    friend bool operator==(const Armed&, const Armed&) = default;
  };
  struct Connection {
    Connection(Offered& place, const base::Address& from) : offered(place), peer(from) {}
    Offered& offered;
    base::Address peer;
    bool in_reserve = false;
    bool input_finished = false;
    base::Instant held_since;  // accepted, or last answered
    reactor::SocketId socket;
    base::Owner owner;
    ConnectionMachine life;
    base::Timer timer;
    Armed armed;
    reactor::Receive receiving = reactor::Receive::watchful;
    std::optional<wire::TlsSession> tls;
    std::unique_ptr<Protocol> protocol;  // of an open connection
  };

  void on_accepted(base::Owner owner, reactor::SocketId socket, const base::Address& peer) override;
  void on_connected(base::Owner) override {}
  void on_received(base::Owner owner, base::Slice bytes) override;
  void on_peer_finished(base::Owner owner) override;
  void on_drained(base::Owner owner) override;
  void on_pumped(base::Owner, std::uint64_t, bool) override {}
  void on_failed(base::Owner owner, const base::Error& error) override;
  void on_timer(base::Owner owner) override;
  void on_round_end() override;

  enum class Room : std::uint8_t { none, in_reserve, any };
  Room make_room(const Offered& offered, const base::Address& peer);
  template <class Among>
  bool evict(Among&& among);
  std::optional<Held> held(const Connection& one) const;
  std::size_t connections_of(const Offered& offered, const base::Address& peer);

  Connection* find(base::Owner owner);  // null also for a closed connection
  void resume(base::Handle connection, WayBack::Task task);
  void open(Connection& one, Event event);
  void decrypt(Connection& one, base::Slice bytes);
  void take(Connection& one, base::Slice bytes);
  void finish_input(Connection& one);
  void send(Connection& one, base::Chain&& plain);
  void settle(Connection& one, bool heard = false);
  void listen_or_pause(Connection& one);
  bool stuck(const Connection& one) const;
  Waiting waiting_of(const Connection& one) const;
  base::Duration time_for(const Connection& one, const Armed& with) const;
  void part(Connection& one);
  void step(Connection& one, Event event);
  void arm(Connection& one, base::Duration delay);
  void close(Connection& one, reactor::CloseMode mode);

  reactor::EpollReactor& reactor_;
  const std::shared_ptr<Door> door_;
  Alarms alarms_;
  std::vector<std::unique_ptr<Offered>> offered_;
  std::vector<reactor::ListenerId> listeners_;
  base::SlotMap<Connection> connections_;
  std::vector<base::Handle> graves_;  // closed in this round
  std::uint64_t missing_transitions_ = 0;
  bool leaving_ = false;
};

}  // namespace ebb::serve
