// The other side for tests of TlsSession: certificates made on the spot and an OpenSSL client that talks through
// memory.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/block.h"
#include "wire/tls.h"

namespace ebb::wire {

template <auto function>
struct Free {
  template <class T>
  void operator()(T* object) const {
    function(object);
  }
};

// A key from OpenSSL's EVP_PKEY_Q_keygen: "RSA" with a size in bits, or "EC" with the name of a curve.
struct TestKey {
  std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>> key;
  static TestKey rsa(std::size_t bits = 2048);
  static TestKey ecdsa(const char* curve = "P-256");
  std::string pem(const char* passphrase = nullptr) const;
};

struct CertificateFacts {
  std::vector<std::string> names;  // dNSName entries; none: no subjectAltName at all
  std::string common_name = "common.test";
  long valid_seconds = 3600;  // negative: expired
};

std::string self_signed_pem(const TestKey& key, const CertificateFacts& facts);
CertificateSource source(const TestKey& key, const CertificateFacts& facts, std::string origin = "test.pem");
// An ECDSA certificate for these names.
CertificateSource ecdsa_source(std::vector<std::string> names);

struct PeerOptions {
  std::string server_name;
  std::string alpn_wire;  // e.g. "\x02h2\x08http/1.1"
  int version = 0;        // TLS1_2_VERSION, TLS1_3_VERSION; 0: both
  std::string tls12_suites;
  std::string signature_algorithms;
  SSL_SESSION* resume = nullptr;
  std::optional<CertificateSource> certificate = {};  // its own, shown if asked for
  bool ask_status = false;                            // for an OCSP response
};

class TlsClient {
 public:
  explicit TlsClient(const PeerOptions& options = {});
  ~TlsClient();
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  // One step of the handshake and of reading; plaintext collects in `received`.
  void pump();
  bool write(std::string_view bytes);
  std::string take_output();  // ciphertext for the server
  void give_input(std::string_view bytes);
  void close_notify() { SSL_shutdown(ssl_); }

  bool connected() const { return SSL_is_init_finished(ssl_) == 1; }
  bool resumed() const { return SSL_session_reused(ssl_) == 1; }
  int leaf_key_type() const;
  std::string leaf_name() const;  // the first dNSName of the server's certificate
  std::string alpn() const;
  std::string staple() const;  // the OCSP response that came, or ""
  bool peer_closed() const { return (SSL_get_shutdown(ssl_) & SSL_RECEIVED_SHUTDOWN) != 0; }
  int alert() const { return alert_; }  // description of the fatal alert that came, or -1
  SSL_SESSION* session() const;         // with the newest ticket; owned by the client
  SSL* ssl() { return ssl_; }

  std::string received;
  std::vector<std::size_t> record_sizes;  // of the application data that came

 private:
  void use_certificate(const CertificateSource& own);
  static int on_new_session(SSL* ssl, SSL_SESSION* session);
  static void on_info(const SSL* ssl, int where, int value);

  SSL_CTX* context_;
  SSL* ssl_;
  BIO* input_;
  BIO* output_;
  SSL_SESSION* session_ = nullptr;
  int alert_ = -1;
};

// A client and a session of the server, and the bytes between them.
class TlsPair {
 public:
  explicit TlsPair(const ServerContext& context, const PeerOptions& options = {}) : client(options), server(context) {}

  // Carries bytes both ways until neither side has more to say. `piece` bytes at a time reach the server.
  TlsSession::Status carry(std::size_t piece = SIZE_MAX);
  TlsSession::Status feed(std::string_view bytes);
  TlsSession::Status answer(std::string_view bytes);

  std::string plain_text();  // all that the server decrypted, taken out

  base::BlockPool pool;
  base::Chain plain;
  base::Chain cipher;
  TlsClient client;
  TlsSession server;
};

std::string text_of(const base::Chain& chain);

}  // namespace ebb::wire
