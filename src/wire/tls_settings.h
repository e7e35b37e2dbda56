// Settings that contexts and sessions of both sides share: versions, suites, certificates, ALPN. Private to tls_*.cc.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "wire/tls_certificate.h"
#include "wire/tls_openssl.h"

namespace ebb::wire {

void use_common_settings(SSL_CTX* context);

// Errors are sentences that name the file or word and the remedy.
std::expected<void, std::string> use_certificate(SSL_CTX* context, const Certificate& certificate);
// Each name preceded by its length, as in RFC 7301 section 3.1.
std::expected<std::string, std::string> alpn_wire_format(const std::vector<std::string>& protocols);

// A session that reads and writes through this thread's BIO.
SslPointer new_session_of(SSL_CTX* context);

}  // namespace ebb::wire
