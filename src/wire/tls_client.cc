// Before: the configuration's rollout, which builds it. Next: tls_session.
#include "wire/tls_client.h"

#include "base/assert.h"
#include "base/literal_address.h"
#include "wire/host_name.h"
#include "wire/tls_settings.h"
#include "wire/tls_trust.h"

namespace ebb::wire {

namespace {

// Each part with its length before it, so that different lists of parts differ as texts.
class Fingerprint {
 public:
  void add(std::string_view part) {
    text_ += std::to_string(part.size());
    text_ += ':';
    text_ += part;
  }
  std::string digest() const {
    std::string digest(EVP_MAX_MD_SIZE, '\0');
    unsigned int size = 0;
    EBB_ASSERT(EVP_Digest(text_.data(), text_.size(), reinterpret_cast<unsigned char*>(digest.data()), &size,
                          EVP_sha256(), nullptr) == 1);
    digest.resize(size);
    return digest;
  }

 private:
  std::string text_;
};

std::string fingerprint_of(const ClientOptions& options) {
  Fingerprint fingerprint;
  fingerprint.add(std::to_string(static_cast<int>(options.proof)));
  fingerprint.add(options.authorities.pem);
  fingerprint.add(options.verified_name);
  fingerprint.add(options.server_name);
  fingerprint.add(options.certificate ? options.certificate->certificate_pem : "");
  fingerprint.add(options.certificate ? options.certificate->key_pem : "");
  for (const std::string& protocol : options.alpn) fingerprint.add(protocol);
  fingerprint.add(options.resume ? "resume" : "");
  return fingerprint.digest();
}

}  // namespace

void SessionShelf::put(SessionPointer session) {
  SessionPointer oldest;  // freed outside the lock
  std::lock_guard lock(mutex_);
  if (sessions_.size() == capacity) {
    oldest = std::move(sessions_.front());
    sessions_.erase(sessions_.begin());
  }
  sessions_.push_back(std::move(session));
}

SessionPointer SessionShelf::take() {
  std::lock_guard lock(mutex_);
  if (sessions_.empty()) return nullptr;
  SessionPointer newest = std::move(sessions_.back());
  sessions_.pop_back();
  return newest;
}

std::expected<std::shared_ptr<const ClientContext>, std::string> ClientContext::build(const ClientOptions& options) {
  return OpensslClientContext::build(options);
}

OpensslClientContext::OpensslClientContext(bool resume) : context_(SSL_CTX_new(TLS_client_method())) {
  EBB_ASSERT(context_ != nullptr);
  SSL_CTX* context = context_.get();
  use_common_settings(context);
  SSL_CTX_set_app_data(context, this);
  if (!resume) return;
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(context, on_new_session);
}

std::expected<std::shared_ptr<const ClientContext>, std::string> OpensslClientContext::build(
    const ClientOptions& options) {
  std::shared_ptr<OpensslClientContext> context(new OpensslClientContext(options.resume));
  if (auto used = context->use_proof(options); !used) return std::unexpected(used.error());
  if (auto used = context->use_server_name(options.server_name); !used) return std::unexpected(used.error());
  if (auto used = context->use_alpn(options.alpn); !used) return std::unexpected(used.error());
  if (options.certificate) {
    if (auto used = context->use_own_certificate(*options.certificate); !used) return std::unexpected(used.error());
  }
  context->fingerprint_ = fingerprint_of(options);
  return context;
}

std::expected<void, std::string> OpensslClientContext::use_proof(const ClientOptions& options) {
  SSL_CTX* context = context_.get();
  if (options.proof == BackendProof::nothing) {
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
    return {};
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  if (!options.authorities.given()) {
    SSL_CTX_set_default_verify_paths(context);
  } else {
    auto store = read_authorities(options.authorities);
    if (!store) return std::unexpected(store.error());
    SSL_CTX_set_cert_store(context, store->release());
    // A configured certificate is trusted, be it a root, an intermediate or the backend's own.
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
  }
  return options.proof == BackendProof::name ? use_name(options.verified_name) : std::expected<void, std::string>();
}

// An address is compared with iPAddress entries, a name with dNSName entries by RFC 6125 (wildcards of whole labels
// only). The common name counts only without dNSName, as for our own certificates.
std::expected<void, std::string> OpensslClientContext::use_name(const std::string& name) {
  X509_VERIFY_PARAM* parameters = SSL_CTX_get0_param(context_.get());
  if (const std::string address = base::literal_address(name); !address.empty()) {
    EBB_ASSERT(X509_VERIFY_PARAM_set1_ip_asc(parameters, address.c_str()) == 1);
    return {};
  }
  const std::string host = normal_name(name);
  if (host.empty() || host.starts_with('*')) {
    return std::unexpected("\"" + name +
                           "\" cannot be the name in a backend's certificate; give a host name or an address, or "
                           "verify the chain only");
  }
  X509_VERIFY_PARAM_set_hostflags(parameters, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  EBB_ASSERT(X509_VERIFY_PARAM_set1_host(parameters, host.data(), host.size()) == 1);
  return {};
}

std::expected<void, std::string> OpensslClientContext::use_server_name(const std::string& name) {
  if (name.empty()) return {};
  server_name_ = normal_name(name);
  // RFC 6066 section 3: an address is not a server name.
  const bool is_name = !server_name_.starts_with('*') && base::literal_address(name).empty();
  if (!server_name_.empty() && is_name) return {};
  return std::unexpected("\"" + name + "\" cannot be sent as the server name (SNI); give a host name, or none");
}

std::expected<void, std::string> OpensslClientContext::use_alpn(const std::vector<std::string>& protocols) {
  auto wire = alpn_wire_format(protocols);
  if (!wire) return std::unexpected(wire.error());
  if (wire->empty()) return {};
  // Unlike similar functions, this one returns 0 for success.
  EBB_ASSERT(SSL_CTX_set_alpn_protos(context_.get(), reinterpret_cast<const unsigned char*>(wire->data()),
                                     static_cast<unsigned int>(wire->size())) == 0);
  return {};
}

std::expected<void, std::string> OpensslClientContext::use_own_certificate(const CertificateSource& source) {
  auto certificate = read_certificate(source);
  if (!certificate) return std::unexpected(certificate.error());
  certificate_expiry_ = certificate->expiry;
  return use_certificate(context_.get(), *certificate);
}

// Stores a copy. The original stays with its connection: a failure there would mark it as not resumable, and another
// thread could write to it.
int OpensslClientContext::on_new_session(SSL* ssl, SSL_SESSION* session) {
  const auto* self = static_cast<const OpensslClientContext*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
  if (SessionPointer copy(SSL_SESSION_dup(session)); copy != nullptr) self->sessions_.put(std::move(copy));
  return 0;  // the original is not kept
}

SslPointer OpensslClientContext::new_session() const {
  SslPointer ssl = new_session_of(context_.get());
  SSL_set_connect_state(ssl.get());
  if (!server_name_.empty()) SSL_set_tlsext_host_name(ssl.get(), server_name_.c_str());
  if (const SessionPointer session = sessions_.take(); session != nullptr) SSL_set_session(ssl.get(), session.get());
  return ssl;
}

// A TLS 1.2 session may be resumed repeatedly, without a callback from OpenSSL, so it returns to the shelf. The session
// of a failed handshake does not.
void OpensslClientContext::keep_resumed(SSL* ssl) const {
  if (SSL_session_reused(ssl) == 1 && SSL_version(ssl) == TLS1_2_VERSION) on_new_session(ssl, SSL_get_session(ssl));
}

}  // namespace ebb::wire
