// The TLS of one simulated world: certificates, contexts of the router and of its peers, and OpenSSL's chance, which
// comes from the seed, so that one seed is one run (a ticket's length depends on what was drawn). Owned by the Site.
//
// Certificates are Ed25519: quick, and a signature has one length.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/world.h"
#include "wire/tls.h"

using SSL = struct ssl_st;
using SSL_CTX = struct ssl_ctx_st;
using SSL_SESSION = struct ssl_session_st;

namespace ebb::sim {

class TlsSite {
 public:
  explicit TlsSite(std::uint64_t seed);
  ~TlsSite();
  TlsSite(const TlsSite&) = delete;
  TlsSite& operator=(const TlsSite&) = delete;

  // The router's.
  const std::shared_ptr<const wire::ServerContext>& listener() const { return listener_; }
  const std::shared_ptr<const wire::ClientContext>& backend(bool agrees_on_h2, bool agrees_on_h1);

  // Its peers', for sessions of one version.
  enum class Peer : std::uint8_t { client, endpoint };
  struct PeerWish {
    bool tls12 = false;
    std::string alpn;    // of a client: offered, in wire format; of an endpoint: chosen if it is offered, "": none
    bool fresh = false;  // a client that does not resume
  };
  SSL* session(Peer peer, const PeerWish& wish);

 private:
  static int on_ticket(SSL* ssl, SSL_SESSION* session);

  std::shared_ptr<const wire::ServerContext> listener_;
  std::shared_ptr<const wire::ClientContext> backends_[3];
  std::shared_ptr<wire::TicketKeys> tickets_;
  SSL_CTX* contexts_[2] = {};
  std::vector<SSL_SESSION*> kept_;  // of clients
};

}  // namespace ebb::sim
