#include "wire/tls_settings.h"

#include "base/assert.h"
#include "wire/tls_bio.h"

namespace ebb::wire {

namespace {

// Only forward secret and authenticated suites. AES-128 first: in practice as strong as AES-256 and a fifth cheaper.
// ECDSA before RSA: a P-256 signature costs a small part of an RSA-2048 signature. A client that lists ChaCha20 first
// has no AES instructions and gets ChaCha20 (SSL_OP_PRIORITIZE_CHACHA).
constexpr const char* tls12_suites =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
constexpr const char* tls13_suites = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
constexpr const char* groups = "X25519:P-256:P-384";
constexpr int security_level = 2;  // 112 bits: RSA from 2048, no SHA-1 signatures

}  // namespace

void use_common_settings(SSL_CTX* context) {
  SSL_CTX_set_security_level(context, security_level);
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // An idle connection must not keep two record buffers of 17 KiB each.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  const bool known = SSL_CTX_set_cipher_list(context, tls12_suites) == 1 &&
                     SSL_CTX_set_ciphersuites(context, tls13_suites) == 1 &&
                     SSL_CTX_set1_groups_list(context, groups) == 1;
  EBB_ASSERT(known);
}

std::expected<void, std::string> use_certificate(SSL_CTX* context, const Certificate& certificate) {
  ERR_clear_error();
  // OpenSSL adds a chain to the certificate set last, so set it after each leaf.
  bool usable = SSL_CTX_use_certificate(context, certificate.leaf.get()) == 1 &&
                SSL_CTX_use_PrivateKey(context, certificate.key.get()) == 1;
  for (const X509Pointer& intermediate : certificate.intermediates) {
    usable = usable && SSL_CTX_add1_chain_cert(context, intermediate.get()) == 1;
  }
  const std::string reason = take_reason("no reason given");
  if (usable) return {};
  return std::unexpected("the certificate in " + certificate.origin + " cannot be served (" + reason +
                         "); use RSA of 2048 bits or more, ECDSA P-256 or P-384, signed with SHA-256 or better");
}

std::expected<std::string, std::string> alpn_wire_format(const std::vector<std::string>& protocols) {
  std::string wire;
  for (const std::string& protocol : protocols) {
    if (protocol.empty() || protocol.size() > 255) {
      return std::unexpected("an ALPN protocol name must have 1 to 255 bytes; correct \"" + protocol + "\"");
    }
    wire.push_back(static_cast<char>(protocol.size()));
    wire += protocol;
  }
  return wire;
}

SslPointer new_session_of(SSL_CTX* context) {
  SslPointer ssl(SSL_new(context));
  EBB_ASSERT(ssl != nullptr);
  BIO* bio = thread_bio();
  BIO_up_ref(bio);  // SSL_set_bio() takes one reference
  SSL_set_bio(ssl.get(), bio, bio);
  return ssl;
}

}  // namespace ebb::wire
