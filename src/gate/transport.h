// A connected socket, plain or with TLS: whoever uses it gives and gets plain bytes. Owns the TLS session and what
// waits inside it, and limits what TLS itself answers; the descriptor and its output are the reactor's. Each connection
// (of a client, to an endpoint, of a check) is one, by value. Ends with its connection, which closes the socket.
//
// Before: the reactor and wire/tls. Next: gate/clients, gate/backends, gate/check_connection.
#pragma once

#include <memory>

#include "base/backlog.h"
#include "base/block.h"
#include "base/cause.h"
#include "reactor/reactor.h"
#include "wire/tls.h"

namespace ebb::gate {

// What TLS answers by itself: a KeyUpdate that was asked for, a warning. A peer that asks on and on and reads nothing
// would fill our memory with the answers, so they are limited until it has read.
class TlsReplies {
 public:
  // `unsent`: before these bytes. False: too many waited already.
  bool within_limit(std::size_t bytes, std::size_t unsent) {
    if (unsent == 0) waiting_ = 0;
    const bool within = waiting_ <= limit;
    waiting_ += bytes;
    return within;
  }

 private:
  static constexpr std::size_t limit = std::size_t{32} << 10;
  std::size_t waiting_ = 0;
};

struct SecureLayer {
  explicit SecureLayer(const std::shared_ptr<const wire::ServerContext>& with)
      : context(with), session(*with), flooded(base::Cause::client_tls_failed) {}
  explicit SecureLayer(const std::shared_ptr<const wire::ClientContext>& with)
      : context(with), session(*with), flooded(base::Cause::backend_tls_failed) {}

  std::shared_ptr<const void> context;  // the one it began with: a new certificate does not disturb it
  wire::TlsSession session;
  TlsReplies replies;
  base::Instant held_since{};  // output that waits for the rest of the peer's message, see TlsSession::held()
  base::Cause flooded;         // the peer asks for replies that it does not read
};

// Functions that write return how many bytes they gave to the socket.
struct Transport {
  using Status = wire::TlsSession::Status;
  struct Received {
    Status status = Status::open;
    base::Cause cause = base::Cause::none;  // of a failure
    bool secured = false;                   // these bytes have completed the handshake
    std::size_t replied = 0;                // bytes that TLS itself has sent
  };
  enum class Replies : std::uint8_t { sent, dropped };  // dropped: our half is finished, and nothing may follow it

  reactor::SocketId socket;
  std::unique_ptr<SecureLayer> secure;  // null: plain

  // Only with TLS. To the endpoint: the first message.
  std::size_t start(reactor::Reactor& reactor);
  // Only with TLS: received bytes become plain ones. After a failure there are none, and the connection must be closed.
  Received decrypt(reactor::Reactor& reactor, base::Slice bytes, base::Chain& plain, Replies replies = Replies::sent);

  std::size_t send(reactor::Reactor& reactor, base::Chain&& plain) {
    if (secure) return send_encrypted(reactor, std::move(plain));
    const std::size_t bytes = plain.bytes();
    reactor.send(socket, std::move(plain));
    return bytes;
  }
  // The same, if finish() or close() of the socket follows before the reactor is back: the FIN joins these bytes.
  std::size_t send_last(reactor::Reactor& reactor, base::Chain&& plain) {
    if (secure) return send_encrypted(reactor, std::move(plain));  // may keep bytes back, and then no FIN follows
    const std::size_t bytes = plain.bytes();
    reactor.send_last(socket, std::move(plain));
    return bytes;
  }
  // close_notify: vouches for all that was sent.
  std::size_t notify_end(reactor::Reactor& reactor);
  // Ends our half. Not while plaintext is held, which the end would overtake: a time-out of the caller ends that.
  std::size_t finish(reactor::Reactor& reactor);

  // Plaintext that TLS cannot encrypt yet.
  std::size_t held() const { return secure ? secure->session.held() : 0; }
  // Output that waits, here and in the socket: its bytes, since when, and the memory that it holds.
  std::size_t unsent(const reactor::Reactor& reactor) const { return reactor.unsent(socket) + held(); }
  base::Backlog backlog(const reactor::Reactor& reactor) const;
  std::size_t output_memory(const reactor::Reactor& reactor) const {
    return reactor.held(socket) + (secure ? secure->session.held_memory() : 0);
  }
  // The socket, if its bytes are ours as they are, so that the kernel may move them.
  reactor::SocketId bare_socket() const { return secure ? reactor::SocketId{} : socket; }

 private:
  std::size_t send_encrypted(reactor::Reactor& reactor, base::Chain&& plain);
  std::size_t put(reactor::Reactor& reactor, base::Chain&& cipher);
};

}  // namespace ebb::gate
