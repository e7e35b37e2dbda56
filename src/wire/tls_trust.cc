#include "wire/tls_trust.h"

#include <openssl/pem.h>

#include <algorithm>

#include "base/assert.h"
#include "wire/tls_certificate.h"

namespace ebb::wire {

namespace {

using RevocationListPointer = std::unique_ptr<X509_CRL, FreeWith<X509_CRL_free>>;

// RFC 8446 section 4.2.4 and RFC 5246 section 7.4.4: the list's length field has two bytes.
constexpr int authority_names_bytes_max = 65535;

std::expected<void, std::string> add_revocations(X509_STORE* store, const PemSource& source) {
  ERR_clear_error();
  const BioPointer pem(BIO_new_mem_buf(source.pem.data(), static_cast<int>(source.pem.size())));
  int count = 0;
  while (const RevocationListPointer list{PEM_read_bio_X509_CRL(pem.get(), nullptr, nullptr, nullptr)}) {
    if (X509_STORE_add_crl(store, list.get()) != 1) {
      return std::unexpected("a revocation list in " + source.origin + " cannot be used (" + take_reason("no reason") +
                             "); ask the authority for a new one");
    }
    count += 1;
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string reason = take_reason("no reason given");
  if (!at_end) {
    return std::unexpected("a revocation list in " + source.origin + " cannot be decoded (" + reason +
                           "); export it again in PEM form");
  }
  if (count == 0)
    return std::unexpected(source.origin + " holds no revocation list; it must hold PEM blocks (X509 CRL)");
  if (auto whole = expect_blocks(source, {PEM_STRING_X509_CRL, PEM_STRING_X509}, "revocation lists"); !whole)
    return whole;
  X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
  return {};
}

// Resumption does not verify again, so a ticket must expire no later than the client's certificate.
int shorten_ticket(SSL* ssl, void*) {
  const X509* certificate = SSL_get0_peer_certificate(ssl);
  SSL_SESSION* session = SSL_get_session(ssl);
  int days = 0;
  int seconds = 0;
  if (certificate != nullptr && ASN1_TIME_diff(&days, &seconds, nullptr, X509_get0_notAfter(certificate)) == 1) {
    const long left = std::max(0L, days * 86'400L + seconds);
    SSL_SESSION_set_timeout(session, std::min(left, SSL_SESSION_get_timeout(session)));
  }
  return 1;
}

// Each part preceded by its length, so that different policies give different texts.
std::string identity_of(const ServerOptions& options) {
  std::string identity = options.client_certificates == ClientCertificates::required ? "required" : "optional";
  for (const std::string* part : {&options.client_authorities.pem, &options.client_revocations.pem}) {
    identity += ":" + std::to_string(part->size()) + ":" + *part;
  }
  return identity;
}

}  // namespace

std::expected<StorePointer, std::string> read_authorities(const PemSource& source) {
  auto certificates = read_certificates(source);
  if (!certificates) return std::unexpected(certificates.error());
  StorePointer store(X509_STORE_new());
  EBB_ASSERT(store != nullptr);
  for (const X509Pointer& certificate : *certificates) {
    if (X509_STORE_add_cert(store.get(), certificate.get()) == 1) continue;
    return std::unexpected("a certificate in " + source.origin + " cannot be used (" + take_reason("no reason") +
                           "); export it again in PEM form");
  }
  ERR_clear_error();
  return store;
}

std::expected<ClientPolicy, std::string> ClientPolicy::read(const ServerOptions& options) {
  ClientPolicy policy;
  if (options.client_certificates == ClientCertificates::none) return policy;
  auto store = read_authorities(options.client_authorities);
  if (!store) return std::unexpected("client certificates need authorities to be verified with: " + store.error());
  policy.asked_ = options.client_certificates;
  policy.store_ = std::move(*store);
  policy.identity_ = identity_of(options);
  if (options.client_revocations.given()) {
    auto added = add_revocations(policy.store_.get(), options.client_revocations);
    if (!added) return std::unexpected(added.error());
  }
  policy.names_.reset(sk_X509_NAME_new_null());
  int bytes = 0;
  const auto authorities = read_certificates(options.client_authorities);
  for (const X509Pointer& authority : *authorities) {
    const X509_NAME* name = X509_get_subject_name(authority.get());
    bytes += 2 + i2d_X509_NAME(name, nullptr);
    sk_X509_NAME_push(policy.names_.get(), X509_NAME_dup(name));
  }
  if (bytes <= authority_names_bytes_max) return policy;
  return std::unexpected("the names of the authorities in " + options.client_authorities.origin +
                         " do not fit into a handshake; keep only those that issue certificates of clients");
}

void ClientPolicy::apply(SSL_CTX* context) const {
  if (asked_ == ClientCertificates::none) return;
  const bool required = asked_ == ClientCertificates::required;
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | (required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), nullptr);
  SSL_CTX_set1_cert_store(context, store_.get());
  SSL_CTX_set_client_CA_list(context, SSL_dup_CA_list(names_.get()));
  SSL_CTX_set_session_ticket_cb(context, shorten_ticket, nullptr, nullptr);
}

}  // namespace ebb::wire
