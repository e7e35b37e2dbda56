#define OPENSSL_SUPPRESS_DEPRECATED  // RAND_METHOD is the one door by which a program may bring chance of its own
#include "sim/tls_site.h"

#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/assert.h"
#include "sim/tls_line.h"

namespace ebb::sim {

namespace {

base::Rng chance{0};

int draw_bytes(unsigned char* out, int count) {
  for (int i = 0; i < count; ++i) out[i] = static_cast<unsigned char>(chance.next() >> 32);
  return 1;
}
int seed_nothing(const void*, int) { return 1; }
int add_nothing(const void*, int, double) { return 1; }
int always_ready() { return 1; }

constexpr RAND_METHOD seeded{seed_nothing, draw_bytes, nullptr, add_nothing, draw_bytes, always_ready};

template <auto function>
struct Free {
  template <class T>
  void operator()(T* object) const {
    function(object);
  }
};

std::string pem_of(auto&& write) {
  const std::unique_ptr<BIO, Free<BIO_free>> memory(BIO_new(BIO_s_mem()));
  write(memory.get());
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

// One for everything: it issues itself, names all hosts of the world, and outlives this century.
wire::CertificateSource make_identity() {
  unsigned char raw[32];
  for (std::size_t i = 0; i < sizeof(raw); ++i) raw[i] = static_cast<unsigned char>(7 * i + 1);
  const std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>> key(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, raw, sizeof(raw)));
  const std::unique_ptr<X509, Free<X509_free>> certificate(X509_new());
  X509* leaf = certificate.get();
  X509_set_version(leaf, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(leaf), 1);
  ASN1_TIME_set_string_X509(X509_getm_notBefore(leaf), "20200101000000Z");
  ASN1_TIME_set_string_X509(X509_getm_notAfter(leaf), "22000101000000Z");
  X509_set_pubkey(leaf, key.get());
  X509_NAME* name = X509_get_subject_name(leaf);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("sim"), -1, -1, 0);
  X509_set_issuer_name(leaf, name);
  const std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>> names(
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "DNS:*.test,DNS:endpoint.test"));
  X509_add_ext(leaf, names.get(), -1);
  X509_sign(leaf, key.get(), nullptr);
  return {.certificate_pem = pem_of([&](BIO* out) { PEM_write_bio_X509(out, leaf); }),
          .key_pem = pem_of(
              [&](BIO* out) { PEM_write_bio_PKCS8PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr); }),
          .origin = "sim.pem"};
}

const wire::CertificateSource& identity() {
  static const wire::CertificateSource made = make_identity();
  return made;
}

SSL_CTX* make_context(TlsSite::Peer peer) {
  SSL_CTX* context = SSL_CTX_new(peer == TlsSite::Peer::client ? TLS_client_method() : TLS_server_method());
  SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256");  // what RecordSealer knows
  SSL_CTX_set1_groups_list(context, "X25519");
  if (peer == TlsSite::Peer::client) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    return context;
  }
  const std::unique_ptr<BIO, Free<BIO_free>> certificate(BIO_new_mem_buf(identity().certificate_pem.data(), -1));
  const std::unique_ptr<BIO, Free<BIO_free>> key(BIO_new_mem_buf(identity().key_pem.data(), -1));
  const std::unique_ptr<X509, Free<X509_free>> leaf(PEM_read_bio_X509(certificate.get(), nullptr, nullptr, nullptr));
  const std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>> own(
      PEM_read_bio_PrivateKey(key.get(), nullptr, nullptr, nullptr));
  SSL_CTX_use_certificate(context, leaf.get());
  SSL_CTX_use_PrivateKey(context, own.get());
  SSL_CTX_set_num_tickets(context, 1);
  SSL_CTX_set_alpn_select_cb(context, TlsLine::choose_protocol, nullptr);
  return context;
}

}  // namespace

TlsSite::TlsSite(std::uint64_t seed) : tickets_() {
  chance = base::Rng(seed);
  RAND_set_rand_method(&seeded);
  tickets_ = std::make_shared<wire::TicketKeys>();
  auto context =
      wire::ServerContext::build({.certificates = {identity()}, .alpn = {"h2", "http/1.1", "http/1.0"}}, tickets_);
  EBB_ASSERT(context.has_value());
  listener_ = std::move(*context);
}

TlsSite::~TlsSite() {
  for (SSL_SESSION* session : kept_) SSL_SESSION_free(session);
  for (SSL_CTX* context : contexts_) SSL_CTX_free(context);
}

const std::shared_ptr<const wire::ClientContext>& TlsSite::backend(bool agrees_on_h2, bool agrees_on_h1) {
  std::shared_ptr<const wire::ClientContext>& made = backends_[agrees_on_h2 ? (agrees_on_h1 ? 2 : 1) : 0];
  if (made != nullptr) return made;
  std::vector<std::string> alpn;
  if (agrees_on_h2) alpn.emplace_back("h2");
  if (agrees_on_h1) alpn.emplace_back("http/1.1");
  auto context = wire::ClientContext::build({.proof = wire::BackendProof::name,
                                             .authorities = {identity().certificate_pem, "sim.pem"},
                                             .verified_name = "endpoint.test",
                                             .server_name = "endpoint.test",
                                             .alpn = alpn});
  EBB_ASSERT(context.has_value());
  return made = std::move(*context);
}

SSL* TlsSite::session(Peer peer, const PeerWish& wish) {
  SSL_CTX*& context = contexts_[static_cast<std::size_t>(peer)];
  if (context == nullptr) {
    context = make_context(peer);
    SSL_CTX_set_app_data(context, this);
    SSL_CTX_set_keylog_callback(context, TlsLine::on_key);
    SSL_CTX_sess_set_new_cb(context, peer == Peer::client ? on_ticket : nullptr);
  }
  SSL* ssl = SSL_new(context);
  const int version = wish.tls12 ? TLS1_2_VERSION : TLS1_3_VERSION;
  SSL_set_min_proto_version(ssl, version);
  SSL_set_max_proto_version(ssl, version);
  if (peer == Peer::endpoint) {
    SSL_set_accept_state(ssl);
    return ssl;
  }
  SSL_set_connect_state(ssl);
  const std::string& alpn = wish.alpn;
  if (!alpn.empty())
    SSL_set_alpn_protos(ssl, reinterpret_cast<const unsigned char*>(alpn.data()), static_cast<unsigned>(alpn.size()));
  SSL_set_tlsext_host_name(ssl, "any.test");
  if (!wish.fresh && !wish.tls12 && !kept_.empty()) {
    SSL_set_session(ssl, kept_.back());
    SSL_SESSION_free(kept_.back());
    kept_.pop_back();
  }
  return ssl;
}

int TlsSite::on_ticket(SSL* ssl, SSL_SESSION* session) {
  constexpr std::size_t kept_max = 32;
  auto& site = *static_cast<TlsSite*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
  if (site.kept_.size() == kept_max || SSL_SESSION_get_protocol_version(session) != TLS1_3_VERSION) return 0;
  site.kept_.push_back(session);
  return 1;
}

}  // namespace ebb::sim
