// Whom we trust: authorities and revocation lists as OpenSSL's store, and what a listener asks of its clients. Private
// to tls_*.cc. Errors are sentences that name the file and the remedy.
#pragma once

#include <expected>
#include <string>

#include "wire/tls.h"
#include "wire/tls_openssl.h"

namespace ebb::wire {

using StorePointer = std::unique_ptr<X509_STORE, FreeWith<X509_STORE_free>>;

std::expected<StorePointer, std::string> read_authorities(const PemSource& source);

// Certificates of clients: none, optional or required, and who may have issued them.
class ClientPolicy {
 public:
  static std::expected<ClientPolicy, std::string> read(const ServerOptions& options);

  void apply(SSL_CTX* context) const;
  // Differs wherever the policy does; "" if no certificate is asked for. Sessions are resumed only where it is the
  // same: the keys of tickets are shared by all listeners, and a resumed session is not verified again.
  const std::string& identity() const { return identity_; }

 private:
  struct FreeNames {
    void operator()(STACK_OF(X509_NAME) * names) const { sk_X509_NAME_pop_free(names, X509_NAME_free); }
  };

  ClientCertificates asked_ = ClientCertificates::none;
  StorePointer store_;
  std::unique_ptr<STACK_OF(X509_NAME), FreeNames> names_;  // told to clients, so that they can choose
  std::string identity_;
};

}  // namespace ebb::wire
