// A configured certificate: leaf, intermediates, key, and the names it covers. Private to tls_*.cc.
#pragma once

#include <cstdint>
#include <expected>
#include <initializer_list>
#include <string>
#include <vector>

#include "wire/tls.h"
#include "wire/tls_openssl.h"

namespace ebb::wire {

struct Certificate {
  X509Pointer leaf;
  std::vector<X509Pointer> intermediates;
  KeyPointer key;
  std::vector<std::string> names;      // lower case; "*.example.com" for a wildcard
  std::vector<std::string> addresses;  // in network order
  std::int64_t expiry = 0;             // seconds since the epoch
  std::string origin;

  int key_type() const { return EVP_PKEY_get_base_id(key.get()); }
};

// At least one certificate. The error is a sentence that names the file and the remedy, as below.
std::expected<std::vector<X509Pointer>, std::string> read_certificates(const PemSource& source);
std::expected<Certificate, std::string> read_certificate(const CertificateSource& source);

// Checks that all blocks are complete and of these kinds: OpenSSL ignores others, even a revocation list among
// authorities.
std::expected<void, std::string> expect_blocks(const PemSource& source, std::initializer_list<const char*> kinds,
                                               const char* what);

// 0 if `time` is invalid.
std::int64_t seconds_since_epoch(const ASN1_TIME* time);

}  // namespace ebb::wire
