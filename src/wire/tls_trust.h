// Whom the router trusts: authorities and revocation lists as OpenSSL's store, and a listener's policy for client
// certificates. Private to tls_*.cc. Errors are sentences that name the file and the remedy.
#pragma once

#include <expected>
#include <string>

#include "wire/tls.h"
#include "wire/tls_openssl.h"

namespace ebb::wire {

using StorePointer = std::unique_ptr<X509_STORE, FreeWith<X509_STORE_free>>;

std::expected<StorePointer, std::string> read_authorities(const PemSource& source);

// Client certificates: none, optional or required, and which authorities may issue them.
class ClientPolicy {
 public:
  static std::expected<ClientPolicy, std::string> read(const ServerOptions& options);

  void apply(SSL_CTX* context) const;
  // Different for different policies; "" if no certificate is requested. A session resumes only under the same policy:
  // all listeners share the ticket keys, and resumption does not verify again.
  const std::string& identity() const { return identity_; }

 private:
  struct FreeNames {
    void operator()(STACK_OF(X509_NAME) * names) const { sk_X509_NAME_pop_free(names, X509_NAME_free); }
  };

  ClientCertificates asked_ = ClientCertificates::none;
  StorePointer store_;
  std::unique_ptr<STACK_OF(X509_NAME), FreeNames> names_;  // sent to clients, so that they can choose a certificate
  std::string identity_;
};

}  // namespace ebb::wire
