// Whom we trust: authorities and revocation lists, as OpenSSL's store. Private to tls_*.cc.
#pragma once

#include <expected>
#include <string>

#include "wire/tls.h"
#include "wire/tls_openssl.h"

namespace ebb::wire {

using StorePointer = std::unique_ptr<X509_STORE, FreeWith<X509_STORE_free>>;

// The error is a sentence that names the file and the remedy.
std::expected<StorePointer, std::string> read_authorities(const PemSource& source);

}  // namespace ebb::wire
