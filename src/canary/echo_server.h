// The echo server: on all addresses of this machine, with TLS and without it on the same port, so that one server is
// behind all kinds of routes. Sockets and time are for serve/server. Owned by app; used on the thread of its reactor,
// which begin_to_leave() ends when the last connection is gone or the grace is over.
#pragma once

#include <memory>
#include <string>

#include "canary/echo_session.h"
#include "serve/server.h"

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

class EchoServer {
 public:
  EchoServer(reactor::EpollReactor& reactor, EchoIdentity identity, std::shared_ptr<const wire::ServerContext> tls,
             const EchoLimits& limits = {});

  // Before the reactor runs. On all addresses of this machine, of both families where there are two; 0: any port.
  // Returns the port, or 0: `error` says why.
  std::uint16_t listen(std::uint16_t port, std::string& error);
  reactor::Handler& handler() { return serve_; }
  // On the reactor's thread: refuses new connections, lets what runs come to its end.
  void begin_to_leave() { serve_.leave(grace_); }
  std::size_t connections() const { return serve_.connections(); }

 private:
  reactor::EpollReactor& reactor_;
  EchoDesk desk_;
  const base::Duration grace_;
  serve::Server serve_;
  std::uint32_t service_;
};

}  // namespace ebb::canary
