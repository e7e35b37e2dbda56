// The echo server: listeners, connections and their deadlines. Owned by app; used on the thread of its
// reactor, which begin_to_leave() ends when the last connection is gone or the grace is over.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/slot_map.h"
#include "canary/echo_session.h"
#include "reactor/reactor.h"

namespace ebb::canary {

struct EchoLimits {
  std::size_t connections = 1024;
  base::Duration request = std::chrono::seconds{10};  // from its first byte, or the first of a handshake, to its last
  // Routers keep idle connections for up to 60 s: whoever reuses one should be the one who closes it.
  base::Duration idle = std::chrono::seconds{75};
  base::Duration tunnel = std::chrono::minutes{5};  // without a byte from the client
  base::Duration write = std::chrono::seconds{10};  // without the client taking a byte
  base::Duration linger = std::chrono::seconds{1};  // for the client to take the last answer
  base::Duration grace = std::chrono::seconds{10};  // from begin_to_leave() to the end
};

class EchoServer final : public reactor::Handler {
 public:
  EchoServer(reactor::Reactor& reactor, EchoIdentity identity, std::shared_ptr<const wire::ServerContext> tls,
             const EchoLimits& limits = {});

  // Before the reactor runs. On all addresses of this machine, of both families where there are two; 0: any port.
  // Returns the port, or 0: `error` says why.
  std::uint16_t listen(std::uint16_t port, std::string& error);
  // On the reactor's thread: refuses new connections, lets what runs come to its end.
  void begin_to_leave();
  std::size_t connections() const { return connections_.size(); }

 private:
  using Waiting = EchoSession::Waiting;
  enum OwnerKind : std::uint32_t { listener, connection, grace };

  struct Connection {
    Connection(EchoDesk& desk, std::uint16_t port, const wire::ServerContext* tls) : session(desk, port, tls) {}
    EchoSession session;
    base::Handle handle;
    reactor::SocketId socket;
    base::Timer timer;
    std::uint64_t answers = 0;  // when the timer was armed
    Waiting waiting = Waiting::request;
    bool stuck = false;      // the client does not take what it is sent
    bool lingering = false;  // our side is finished
    bool closed = false;     // to be buried
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

  void send(Connection& connection, base::Chain&& out);
  void await_more(Connection& connection);
  void arm(Connection& connection, base::Duration delay);
  base::Duration patience(Waiting waiting) const;
  void part(Connection& connection);
  void close(Connection& connection, reactor::CloseMode mode);

  reactor::Reactor& reactor_;
  const EchoLimits limits_;
  const std::shared_ptr<const wire::ServerContext> tls_;
  EchoDesk desk_;
  std::vector<reactor::ListenerId> listeners_;
  base::SlotMap<Connection> connections_;
  std::vector<base::Handle> graves_;
  base::Timer grace_ends_;
  bool leaving_ = false;
};

}  // namespace ebb::canary
