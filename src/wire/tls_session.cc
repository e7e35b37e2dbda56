// Before: the reactor (received bytes) or the gate (an answer to send). Next: h1_head, or the reactor.
#include <algorithm>

#include "wire/tls_client.h"
#include "wire/tls_context.h"
#include "wire/tls_facts.h"

namespace ebb::wire {

namespace {

constexpr std::size_t record_bytes = SSL3_RT_MAX_PLAIN_LENGTH;
// With less room behind a block's content, start a new block: the next record would be split.
constexpr std::uint32_t worthwhile_room = 512;

// Slices at the front of the chain that fit one record. A small head and body thus leave as one record. Slices of a
// record's size are encrypted in place and never split to fill up the record before.
std::uint32_t slices_for_one_record(const base::Chain& plain) {
  std::size_t total = 0;
  std::uint32_t count = 0;
  while (count < plain.slices() && total + plain[count].size() <= record_bytes) {
    total += plain[count].size();
    count += 1;
  }
  return count;
}

// OpenSSL 3.0 keeps both sides' ephemeral keys for the life of the session. They are unused after the handshake:
// freeing them saves 430 bytes, and a deleted private key cannot leak (forward secrecy).
void forget_ephemeral_keys(SSL* ssl) {
  const auto empty = [](EVP_PKEY* key) {
    EVP_PKEY_set_type(key, EVP_PKEY_get_id(key));
    EVP_PKEY_free(key);
  };
  EVP_PKEY* key = nullptr;
  if (SSL_get_tmp_key(ssl, &key) == 1) empty(key);
  if (SSL_get_peer_tmp_key(ssl, &key) == 1) empty(key);
}

base::Slice gather(base::BlockPool& pool, base::Chain& plain, std::uint32_t slices) {
  base::Slice gathered = pool.take(record_bytes);
  for (; slices > 0; --slices) gathered.append(plain.pop_front().view());
  return gathered;
}

base::Slice next_record(base::BlockPool& pool, base::Chain& plain) {
  const std::uint32_t slices = slices_for_one_record(plain);
  if (slices > 1) return gather(pool, plain, slices);
  if (slices == 1) return plain.pop_front();
  base::Slice record = plain.front().part(0, record_bytes);
  plain.drop_front(record_bytes);
  return record;
}

}  // namespace

struct TlsSession::State {
  explicit State(const OpensslServerContext& context) : ssl(context.new_session()) {}
  explicit State(const OpensslClientContext& context) : ssl(context.new_session()), towards_backend(&context) {}

  Status shake_hands();
  Status read_all(Transfer& transfer, base::Chain& plain);
  Status write_all(base::BlockPool& pool, base::Chain& plain);
  Status hold(base::Chain&& plain);
  // A handshake message of the peer is incomplete (RFC 8446 5.1 allows several records): until its end OpenSSL writes
  // no application data.
  bool in_message() const { return SSL_in_init(ssl.get()) == 1; }
  Status stopped(int result);
  void explain();

  SslPointer ssl;
  const OpensslClientContext* towards_backend = nullptr;  // null towards a client
  Greeting greeting;
  std::unique_ptr<const PeerCertificate> peer;
  std::unique_ptr<base::Chain> held;  // plaintext that waits for the end of the peer's message
  const char* why = "";
  base::Cause cause = base::Cause::none;
  Status status = Status::open;
  bool done = false;  // never reset: SSL_is_init_finished() becomes false at each later handshake message
};

// The status for a result other than success.
TlsSession::Status TlsSession::State::stopped(int result) {
  switch (SSL_get_error(ssl.get(), result)) {
    case SSL_ERROR_WANT_READ: return Status::open;
    case SSL_ERROR_ZERO_RETURN: return status = Status::finished;
    default: break;
  }
  explain();
  return status = Status::failed;
}

// OpenSSL's newest error says whose certificate was refused; the verification result says why.
void TlsSession::State::explain() {
  const int reason = ERR_GET_REASON(ERR_peek_last_error());
  const bool untrusted = reason == SSL_R_CERTIFICATE_VERIFY_FAILED;
  const bool missing = reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE;
  why = take_reason("the TLS library gave no reason");
  if (untrusted) why = X509_verify_cert_error_string(SSL_get_verify_result(ssl.get()));
  if (towards_backend != nullptr) {
    cause = untrusted ? base::Cause::backend_tls_untrusted : base::Cause::backend_tls_failed;
    return;
  }
  cause = untrusted || missing ? base::Cause::client_tls_untrusted : base::Cause::client_tls_failed;
  if (greeting.name_refused) {
    cause = base::Cause::client_tls_name_refused;
    why = "no certificate serves the name";
  }
}

TlsSession::Status TlsSession::State::shake_hands() {
  if (const int result = SSL_do_handshake(ssl.get()); result != 1) return stopped(result);
  done = true;
  forget_ephemeral_keys(ssl.get());
  SSL_set_tlsext_status_ocsp_resp(ssl.get(), nullptr, 0);  // a copy for the handshake only
  ERR_clear_error();  // an unreadable ticket leaves an error although the handshake succeeds
  if (towards_backend != nullptr) towards_backend->keep_resumed(ssl.get());
  return Status::open;
}

// Decrypts into as few blocks as possible. Stops without another call once the input is used up and OpenSSL holds no
// plaintext: with read-ahead off it cannot hold a whole record either.
TlsSession::Status TlsSession::State::read_all(Transfer& transfer, base::Chain& plain) {
  base::Slice block;
  Status result = Status::open;
  while (!transfer.input.empty() || SSL_pending(ssl.get()) > 0) {
    if (block.room() < worthwhile_room) {
      plain.push(std::move(block));
      const std::size_t expected = std::max<std::size_t>(transfer.input.size(), SSL_pending(ssl.get()));
      block = transfer.pool.take(static_cast<std::uint32_t>(std::min(expected, record_bytes)));
    }
    std::size_t count = 0;
    const int outcome = SSL_read_ex(ssl.get(), block.mutable_data() + block.size(), block.room(), &count);
    if (outcome != 1) {
      result = stopped(outcome);
      break;
    }
    block.extend(static_cast<std::uint32_t>(count));
  }
  plain.push(std::move(block));
  return result;
}

TlsSession::Status TlsSession::State::write_all(base::BlockPool& pool, base::Chain& plain) {
  while (!plain.empty()) {
    const base::Slice record = next_record(pool, plain);
    std::size_t written = 0;
    const int result = SSL_write_ex(ssl.get(), record.data(), record.size(), &written);
    if (result != 1) return stopped(result);
    EBB_ASSERT(written == record.size());  // our BIO never blocks, so all is written
  }
  return status;
}

// A peer that has closed in the middle of a message will never complete it.
TlsSession::Status TlsSession::State::hold(base::Chain&& plain) {
  if (status == Status::finished) {
    why = "the peer closed in the middle of a message";
    cause = towards_backend != nullptr ? base::Cause::backend_tls_failed : base::Cause::client_tls_failed;
    held.reset();
    return status = Status::failed;
  }
  if (held == nullptr) held = std::make_unique<base::Chain>();
  held->join(std::move(plain));
  return status;
}

TlsSession::TlsSession(const ServerContext& context)
    : state_(std::make_unique<State>(static_cast<const OpensslServerContext&>(context))) {}
TlsSession::TlsSession(const ClientContext& context)
    : state_(std::make_unique<State>(static_cast<const OpensslClientContext&>(context))) {}
TlsSession::TlsSession(TlsSession&&) noexcept = default;
TlsSession& TlsSession::operator=(TlsSession&&) noexcept = default;
TlsSession::~TlsSession() = default;

TlsSession::Status TlsSession::start(base::BlockPool& pool, base::Chain& cipher) {
  State& state = *state_;
  EBB_ASSERT(state.towards_backend != nullptr && SSL_in_before(state.ssl.get()) == 1);
  Transfer transfer{pool, {}, cipher};
  const TransferScope scope(state.ssl.get(), transfer);
  return state.shake_hands();
}

TlsSession::Status TlsSession::receive(base::BlockPool& pool, base::Slice received, base::Chain& plain,
                                       base::Chain& cipher) {
  State& state = *state_;
  if (state.status != Status::open) return state.status;
  SSL* ssl = state.ssl.get();
  // RFC 8446 6.1: close_notify closes our side. An alert or KeyUpdate after it must not be sent.
  base::Chain unheard;
  const bool closed = (SSL_get_shutdown(ssl) & SSL_SENT_SHUTDOWN) != 0;
  Transfer transfer{pool, received.view(), closed ? unheard : cipher, &state.greeting};
  const TransferScope scope(ssl, transfer);
  if (!state.done) {
    if (const Status status = state.shake_hands(); status != Status::open || !state.done) return status;
  }
  const Status status = state.read_all(transfer, plain);
  if (state.held == nullptr || status == Status::failed) return status;
  if (state.in_message()) return status == Status::open ? status : state.hold({});
  const std::unique_ptr<base::Chain> held = std::move(state.held);
  return state.write_all(pool, *held);
}

TlsSession::Status TlsSession::send(base::BlockPool& pool, base::Chain&& plain, base::Chain& cipher) {
  State& state = *state_;
  if (state.status == Status::failed) return Status::failed;
  if (plain.empty()) return state.status;
  if (!state.done || state.in_message()) return state.hold(std::move(plain));
  Transfer transfer{pool, {}, cipher};
  const TransferScope scope(state.ssl.get(), transfer);
  return state.write_all(pool, plain);
}

std::size_t TlsSession::held() const { return state_->held == nullptr ? 0 : state_->held->bytes(); }
std::size_t TlsSession::held_memory() const { return state_->held == nullptr ? 0 : state_->held->held(); }

void TlsSession::close_notify(base::BlockPool& pool, base::Chain& cipher) {
  SSL* ssl = state_->ssl.get();
  const bool already_sent = (SSL_get_shutdown(ssl) & SSL_SENT_SHUTDOWN) != 0;
  if (state_->status == Status::failed || already_sent || state_->in_message()) return;
  Transfer transfer{pool, {}, cipher};
  const TransferScope scope(ssl, transfer);
  if (SSL_shutdown(ssl) < 0) ERR_clear_error();
}

bool TlsSession::handshake_done() const { return state_->done; }
bool TlsSession::resumed() const { return SSL_session_reused(state_->ssl.get()) == 1; }
std::string_view TlsSession::protocol() const { return SSL_get_version(state_->ssl.get()); }

std::string_view TlsSession::alpn() const {
  const unsigned char* name = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(state_->ssl.get(), &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

std::string_view TlsSession::server_name() const { return state_->greeting.server_name; }

bool TlsSession::serves(std::string_view host) const {
  const Greeting& greeting = state_->greeting;
  if (!host.empty() && host == greeting.server_name) return true;
  return greeting.covered != nullptr && greeting.covered->cover(host);
}

const PeerCertificate* TlsSession::peer_certificate() const {
  State& state = *state_;
  X509* certificate = handshake_done() ? SSL_get0_peer_certificate(state.ssl.get()) : nullptr;
  if (certificate == nullptr) return nullptr;
  if (state.peer == nullptr) {
    const bool verified = SSL_get_verify_result(state.ssl.get()) == X509_V_OK;
    state.peer = std::make_unique<const PeerCertificate>(facts_of(certificate, verified));
    ERR_clear_error();
  }
  return state.peer.get();
}

std::string TlsSession::peer_certificate_base64() const {
  X509* certificate = handshake_done() ? SSL_get0_peer_certificate(state_->ssl.get()) : nullptr;
  return certificate == nullptr ? "" : base64_of(certificate);
}

base::Cause TlsSession::cause() const { return state_->cause; }
const char* TlsSession::why() const { return state_->why; }

}  // namespace ebb::wire
