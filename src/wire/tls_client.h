// The ClientContext on OpenSSL, and its tickets. Owned by the configuration's snapshot, shared by all workers; only the
// tickets change after build().
#pragma once

#include <mutex>
#include <vector>

#include "wire/tls.h"
#include "wire/tls_openssl.h"

namespace ebb::wire {

using SessionPointer = std::unique_ptr<SSL_SESSION, FreeWith<SSL_SESSION_free>>;

// Resumable sessions. Each goes to one connection only: a ticket should be used once (RFC 8446 appendix C.4), and two
// threads would write to a shared SSL_SESSION.
class SessionShelf {
 public:
  static constexpr std::size_t capacity = 16;
  void put(SessionPointer session);  // drops the oldest if full
  SessionPointer take();             // the newest; nullptr if there is none

 private:
  std::mutex mutex_;  // taken in handshakes and when a ticket arrives, to move a pointer
  std::vector<SessionPointer> sessions_;
};

class OpensslClientContext final : public ClientContext {
 public:
  static std::expected<std::shared_ptr<const ClientContext>, std::string> build(const ClientOptions& options);
  std::int64_t certificate_expiry() const override { return certificate_expiry_; }
  const std::string& fingerprint() const override { return fingerprint_; }

  SslPointer new_session() const;
  // Call when the handshake of a session is done.
  void keep_resumed(SSL* ssl) const;

 private:
  explicit OpensslClientContext(bool resume);
  std::expected<void, std::string> use_proof(const ClientOptions& options);
  std::expected<void, std::string> use_name(const std::string& name);
  std::expected<void, std::string> use_server_name(const std::string& name);
  std::expected<void, std::string> use_alpn(const std::vector<std::string>& protocols);
  std::expected<void, std::string> use_own_certificate(const CertificateSource& source);

  static int on_new_session(SSL* ssl, SSL_SESSION* session);

  SslContextPointer context_;
  std::string server_name_;
  std::int64_t certificate_expiry_ = INT64_MAX;
  std::string fingerprint_;
  mutable SessionShelf sessions_;
};

}  // namespace ebb::wire
