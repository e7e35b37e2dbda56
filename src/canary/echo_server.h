// The echo server: on all addresses of this machine, with TLS and without it on the same port, so that one server can
// stand behind all kinds of routes. serve/server provides sockets and time. Owned by app; used on the thread of its
// reactor. begin_to_leave() ends the reactor when the last connection is gone or the grace is over.
#pragma once

#include <memory>
#include <string>

#include "canary/echo_session.h"
#include "serve/server.h"

namespace ebb::canary {

struct EchoLimits {
  std::size_t connections = 1024;
  base::Duration request = std::chrono::seconds{10};  // from the first byte, or the start of a handshake, to the end
  // Routers keep idle connections for up to 60 s. With a longer timeout here, the router closes first and never reuses
  // a dying connection.
  base::Duration idle = std::chrono::seconds{75};
  base::Duration tunnel = std::chrono::minutes{5};  // without a byte from the client
  base::Duration write = std::chrono::seconds{10};  // without progress by the client
  base::Duration linger = std::chrono::seconds{1};  // for the client to read the last answer
  base::Duration grace = std::chrono::seconds{10};  // from begin_to_leave() to the end
};

class EchoServer {
 public:
  EchoServer(reactor::EpollReactor& reactor, EchoIdentity identity, std::shared_ptr<const wire::ServerContext> tls,
             const EchoLimits& limits = {});

  // Call before the reactor runs. Listens on all addresses of this machine, in all available families; 0: any port.
  // Returns the port; 0 means failure, with the reason in `error`.
  std::uint16_t listen(std::uint16_t port, std::string& error);
  reactor::Handler& handler() { return serve_; }
  // On the reactor's thread: refuses new connections and lets running work end.
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
