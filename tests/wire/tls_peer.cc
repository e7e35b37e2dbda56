#include "wire/tls_peer.h"

#include <openssl/err.h>
#include <openssl/pem.h>

namespace ebb::wire {

namespace {

std::string contents(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<std::size_t>(size));
}

using BioOwner = std::unique_ptr<BIO, Free<BIO_free>>;

}  // namespace

TestKey TestKey::rsa(std::size_t bits) {
  return {decltype(TestKey::key)(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", bits))};
}

TestKey TestKey::ecdsa(const char* curve) {
  return {decltype(TestKey::key)(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", curve))};
}

std::string TestKey::pem(const char* passphrase) const {
  const BioOwner bio(BIO_new(BIO_s_mem()));
  const EVP_CIPHER* cipher = passphrase == nullptr ? nullptr : EVP_aes_128_cbc();
  PEM_write_bio_PKCS8PrivateKey(bio.get(), key.get(), cipher, passphrase,
                                passphrase == nullptr ? 0 : static_cast<int>(std::string_view(passphrase).size()),
                                nullptr, nullptr);
  return contents(bio.get());
}

std::string self_signed_pem(const TestKey& key, const CertificateFacts& facts) {
  const std::unique_ptr<X509, Free<X509_free>> certificate(X509_new());
  X509* x509 = certificate.get();
  X509_set_version(x509, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
  X509_gmtime_adj(X509_getm_notBefore(x509), -7200);
  X509_gmtime_adj(X509_getm_notAfter(x509), facts.valid_seconds);
  X509_NAME* subject = X509_get_subject_name(x509);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(facts.common_name.c_str()), -1, -1, 0);
  X509_set_issuer_name(x509, subject);
  X509_set_pubkey(x509, key.key.get());
  if (!facts.names.empty()) {
    std::string list;
    for (const std::string& name : facts.names) list += (list.empty() ? "DNS:" : ",DNS:") + name;
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, list.c_str());
    X509_add_ext(x509, extension, -1);
    X509_EXTENSION_free(extension);
  }
  X509_sign(x509, key.key.get(), EVP_sha256());
  const BioOwner bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), x509);
  return contents(bio.get());
}

CertificateSource source(const TestKey& key, const CertificateFacts& facts, std::string origin) {
  return {self_signed_pem(key, facts), key.pem(), std::move(origin)};
}

CertificateSource ecdsa_source(std::vector<std::string> names) {
  return source(TestKey::ecdsa(), {.names = std::move(names)});
}

TlsClient::TlsClient(const PeerOptions& options)
    : context_(SSL_CTX_new(TLS_client_method())),
      ssl_(nullptr),
      input_(BIO_new(BIO_s_mem())),
      output_(BIO_new(BIO_s_mem())) {
  if (options.version != 0) {
    SSL_CTX_set_min_proto_version(context_, options.version);
    SSL_CTX_set_max_proto_version(context_, options.version);
  }
  if (!options.tls12_suites.empty()) SSL_CTX_set_cipher_list(context_, options.tls12_suites.c_str());
  if (!options.signature_algorithms.empty()) {
    SSL_CTX_set1_sigalgs_list(context_, options.signature_algorithms.c_str());
  }
  SSL_CTX_set_session_cache_mode(context_, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(context_, on_new_session);
  ssl_ = SSL_new(context_);
  SSL_set_app_data(ssl_, this);
  SSL_set_info_callback(ssl_, on_info);
  BIO_set_mem_eof_return(input_, -1);
  SSL_set_bio(ssl_, input_, output_);
  SSL_set_connect_state(ssl_);
  if (!options.server_name.empty()) SSL_set_tlsext_host_name(ssl_, options.server_name.c_str());
  if (!options.alpn_wire.empty()) {
    SSL_set_alpn_protos(ssl_, reinterpret_cast<const unsigned char*>(options.alpn_wire.data()),
                        static_cast<unsigned int>(options.alpn_wire.size()));
  }
  if (options.resume != nullptr) SSL_set_session(ssl_, options.resume);
  if (options.certificate) use_certificate(*options.certificate);
  if (options.ask_status) SSL_set_tlsext_status_type(ssl_, TLSEXT_STATUSTYPE_ocsp);
}

// The leaf and its intermediates; both keep what they are given.
void TlsClient::use_certificate(const CertificateSource& own) {
  const BioOwner chain(BIO_new_mem_buf(own.certificate_pem.data(), static_cast<int>(own.certificate_pem.size())));
  const BioOwner key_text(BIO_new_mem_buf(own.key_pem.data(), static_cast<int>(own.key_pem.size())));
  const std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>> key(
      PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr));
  const std::unique_ptr<X509, Free<X509_free>> leaf(PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr));
  SSL_use_certificate(ssl_, leaf.get());
  SSL_use_PrivateKey(ssl_, key.get());
  while (X509* intermediate = PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr)) {
    SSL_add0_chain_cert(ssl_, intermediate);
  }
  ERR_clear_error();
}

TlsClient::~TlsClient() {
  SSL_SESSION_free(session_);
  SSL_free(ssl_);
  SSL_CTX_free(context_);
}

int TlsClient::on_new_session(SSL* ssl, SSL_SESSION* session) {
  auto* self = static_cast<TlsClient*>(SSL_get_app_data(ssl));
  SSL_SESSION_free(self->session_);
  self->session_ = session;
  return 1;
}

void TlsClient::on_info(const SSL* ssl, int where, int value) {
  auto* self = static_cast<TlsClient*>(SSL_get_app_data(ssl));
  if (where == SSL_CB_READ_ALERT && (value >> 8) == SSL3_AL_FATAL) self->alert_ = value & 0xff;
}

void TlsClient::pump() {
  if (!connected()) {
    SSL_do_handshake(ssl_);
    ERR_clear_error();
    if (!connected()) return;
  }
  char buffer[SSL3_RT_MAX_PLAIN_LENGTH];
  std::size_t count = 0;
  while (SSL_read_ex(ssl_, buffer, sizeof(buffer), &count) == 1) {
    received.append(buffer, count);
    record_sizes.push_back(count);
  }
  ERR_clear_error();
}

bool TlsClient::write(std::string_view bytes) {
  std::size_t written = 0;
  return SSL_write_ex(ssl_, bytes.data(), bytes.size(), &written) == 1;
}

std::string TlsClient::take_output() {
  std::string bytes = contents(output_);
  BIO_reset(output_);
  return bytes;
}

void TlsClient::give_input(std::string_view bytes) { BIO_write(input_, bytes.data(), static_cast<int>(bytes.size())); }

// OpenSSL does not call back for a ticket that renews another in TLS 1.2; there it is part of the live session.
SSL_SESSION* TlsClient::session() const {
  return SSL_version(ssl_) == TLS1_3_VERSION ? session_ : SSL_get_session(ssl_);
}

int TlsClient::leaf_key_type() const { return EVP_PKEY_get_base_id(X509_get0_pubkey(SSL_get0_peer_certificate(ssl_))); }

std::string TlsClient::leaf_name() const {
  const std::unique_ptr<GENERAL_NAMES, Free<GENERAL_NAMES_free>> names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(SSL_get0_peer_certificate(ssl_), NID_subject_alt_name, nullptr, nullptr)));
  if (names == nullptr) return "";
  const ASN1_STRING* name = sk_GENERAL_NAME_value(names.get(), 0)->d.dNSName;
  return std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name)),
                     static_cast<std::size_t>(ASN1_STRING_length(name)));
}

std::string TlsClient::alpn() const {
  const unsigned char* name = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(ssl_, &name, &size);
  return std::string(reinterpret_cast<const char*>(name), size);
}

std::string TlsClient::staple() const {
  const unsigned char* der = nullptr;
  const long size = SSL_get_tlsext_status_ocsp_resp(ssl_, &der);
  return size <= 0 ? "" : std::string(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
}

std::string text_of(const base::Chain& chain) {
  std::string text;
  for (std::uint32_t i = 0; i < chain.slices(); ++i) text += chain[i].view();
  return text;
}

TlsSession::Status TlsPair::feed(std::string_view bytes) {
  return server.receive(pool, pool.copy(bytes), plain, cipher);
}

TlsSession::Status TlsPair::carry(std::size_t piece) {
  TlsSession::Status status = TlsSession::Status::open;
  for (;;) {
    client.pump();
    const std::string to_server = client.take_output();
    for (std::size_t at = 0; at < to_server.size(); at += piece) {
      status = feed(std::string_view(to_server).substr(at, piece));
      if (piece == SIZE_MAX) break;
    }
    if (to_server.empty() && cipher.empty()) return status;
    client.give_input(text_of(cipher));
    cipher.clear();
  }
}

TlsSession::Status TlsPair::answer(std::string_view bytes) {
  base::Chain chain;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, base::BlockPool::large_size);
    chain.push(pool.copy(part));
    bytes.remove_prefix(part.size());
  }
  return server.send(pool, std::move(chain), cipher);
}

std::string TlsPair::plain_text() {
  std::string text = text_of(plain);
  plain.clear();
  return text;
}

}  // namespace ebb::wire
