#include "wire/tls_backend.h"

#include <openssl/err.h>
#include <openssl/pem.h>

namespace ebb::wire {

namespace {

using BioOwner = std::unique_ptr<BIO, Free<BIO_free>>;
using X509Owner = std::unique_ptr<X509, Free<X509_free>>;
using KeyOwner = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;

BioOwner reader(const std::string& text) {
  return BioOwner(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

X509Owner next_certificate(BIO* bio) {
  X509Owner certificate(PEM_read_bio_X509(bio, nullptr, nullptr, nullptr));
  ERR_clear_error();
  return certificate;
}

}  // namespace

TestBackend::TestBackend(BackendOptions options)
    : options_(std::move(options)), context_(SSL_CTX_new(TLS_server_method())) {
  SSL_CTX* context = context_.get();
  if (options_.version != 0) {
    SSL_CTX_set_min_proto_version(context, options_.version);
    SSL_CTX_set_max_proto_version(context, options_.version);
  }
  const BioOwner chain = reader(options_.certificate.certificate_pem);
  SSL_CTX_use_certificate(context, next_certificate(chain.get()).get());
  while (const X509Owner intermediate = next_certificate(chain.get())) {
    SSL_CTX_add1_chain_cert(context, intermediate.get());
  }
  const KeyOwner key(PEM_read_bio_PrivateKey(reader(options_.certificate.key_pem).get(), nullptr, nullptr, nullptr));
  SSL_CTX_use_PrivateKey(context, key.get());
  SSL_CTX_set_session_id_context(context, reinterpret_cast<const unsigned char*>("backend"), 7);
  if (!options_.client_authorities.empty()) {
    const X509Owner authority = next_certificate(reader(options_.client_authorities).get());
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get());
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  if (!options_.alpn.empty()) SSL_CTX_set_alpn_select_cb(context, on_alpn, this);
}

int TestBackend::on_alpn(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char*, unsigned int,
                         void* self) {
  const std::string& protocol = static_cast<const TestBackend*>(self)->options_.alpn;
  *chosen = reinterpret_cast<const unsigned char*>(protocol.data());
  *size = static_cast<unsigned char>(protocol.size());
  return SSL_TLSEXT_ERR_OK;
}

SSL* TestBackend::connection() const {
  SSL* ssl = SSL_new(context_.get());
  BIO* input = BIO_new(BIO_s_mem());
  BIO_set_mem_eof_return(input, -1);
  SSL_set_bio(ssl, input, BIO_new(BIO_s_mem()));
  SSL_set_accept_state(ssl);
  return ssl;
}

BackendPair::BackendPair(const ClientContext& context, const TestBackend& with)
    : session(context), backend(with.connection()) {
  SSL_set_app_data(backend.get(), this);
  SSL_set_info_callback(backend.get(), on_info);
}

void BackendPair::on_info(const SSL* ssl, int where, int value) {
  auto* self = static_cast<BackendPair*>(SSL_get_app_data(ssl));
  if (where == SSL_CB_READ_ALERT && (value >> 8) == SSL3_AL_FATAL) self->alert = value & 0xff;
}

void BackendPair::pump_backend() {
  char buffer[SSL3_RT_MAX_PLAIN_LENGTH];
  std::size_t count = 0;
  while (SSL_read_ex(backend.get(), buffer, sizeof(buffer), &count) == 1) backend_received.append(buffer, count);
  ERR_clear_error();
}

TlsSession::Status BackendPair::carry(std::size_t piece) {
  TlsSession::Status status = TlsSession::Status::open;
  if (!std::exchange(started_, true)) status = session.start(pool, cipher);
  for (;;) {
    const std::string to_backend = text_of(cipher);
    cipher.clear();
    BIO_write(SSL_get_rbio(backend.get()), to_backend.data(), static_cast<int>(to_backend.size()));
    pump_backend();
    char* data = nullptr;
    const long size = BIO_get_mem_data(SSL_get_wbio(backend.get()), &data);
    const std::string to_us(data, static_cast<std::size_t>(size));
    BIO_reset(SSL_get_wbio(backend.get()));
    if (to_backend.empty() && to_us.empty()) return status;
    for (std::size_t at = 0; at < to_us.size(); at += std::min(piece, to_us.size())) {
      status = session.receive(pool, pool.copy(std::string_view(to_us).substr(at, piece)), plain, cipher);
    }
  }
}

std::string BackendPair::plain_text() {
  std::string text = text_of(plain);
  plain.clear();
  return text;
}

}  // namespace ebb::wire
