// A backend for tests of sessions towards backends: an OpenSSL server that talks through memory.
#pragma once

#include "wire/tls_peer.h"

namespace ebb::wire {

struct BackendOptions {
  CertificateSource certificate;
  int version = 0;                      // TLS1_2_VERSION, TLS1_3_VERSION; 0: both
  std::string client_authorities = {};  // PEM; asks for a client certificate and insists on it
  std::string alpn = {};                // the protocol it chooses
};

// Lives longer than its connections: its ticket keys do.
class TestBackend {
 public:
  explicit TestBackend(BackendOptions options);
  SSL* connection() const;

 private:
  static int on_alpn(SSL* ssl, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                     unsigned int offered_size, void* self);

  BackendOptions options_;
  std::unique_ptr<SSL_CTX, Free<SSL_CTX_free>> context_;
};

// A session of ours and a connection of the backend, and the bytes between them.
class BackendPair {
 public:
  BackendPair(const ClientContext& context, const TestBackend& backend);

  // Starts if need be and carries bytes both ways until neither side has more to say. `piece` bytes at a time reach us.
  TlsSession::Status carry(std::size_t piece = SIZE_MAX);
  bool backend_connected() const { return SSL_is_init_finished(backend.get()) == 1; }
  std::string plain_text();

  base::BlockPool pool;
  base::Chain plain;
  base::Chain cipher;
  TlsSession session;
  std::unique_ptr<SSL, Free<SSL_free>> backend;
  std::string backend_received;
  int alert = -1;  // description of the fatal alert that the backend got

 private:
  void pump_backend();
  static void on_info(const SSL* ssl, int where, int value);
  bool started_ = false;
};

}  // namespace ebb::wire
