// An OCSP response stapled to a certificate (RFC 6066 section 8). It comes from the configuration; Ebbgate does not
// fetch it. Private to tls_*.cc.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "wire/tls_openssl.h"

namespace ebb::wire {

struct Staple {
  std::string der;
  std::unique_ptr<ASN1_TIME, FreeWith<ASN1_TIME_free>> next_update;  // null if the response does not expire
  std::int64_t expiry = INT64_MAX;                                   // the same, in seconds since the epoch

  // Clients refuse a certificate with an expired response, but accept it without a response.
  bool fresh() const { return next_update == nullptr || X509_cmp_current_time(next_update.get()) > 0; }
};

// The error is a sentence that names the file and the remedy.
std::expected<Staple, std::string> read_staple(const std::string& der, const X509* leaf, const std::string& origin);

// Answers the client's status request; returns as SSL_CTX_set_tlsext_status_cb(3) defines.
int give_staple(SSL* ssl, const Staple& staple);

}  // namespace ebb::wire
