#include "wire/tls_trust.h"

#include "base/assert.h"
#include "wire/tls_certificate.h"

namespace ebb::wire {

std::expected<StorePointer, std::string> read_authorities(const PemSource& source) {
  auto certificates = read_certificates(source);
  if (!certificates) return std::unexpected(certificates.error());
  StorePointer store(X509_STORE_new());
  EBB_ASSERT(store != nullptr);
  for (const X509Pointer& certificate : *certificates) X509_STORE_add_cert(store.get(), certificate.get());
  ERR_clear_error();
  return store;
}

}  // namespace ebb::wire
