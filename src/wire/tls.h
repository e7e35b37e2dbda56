// TLS without I/O: ciphertext in, plaintext out, and back. OpenSSL is named in tls*.cc only, so that another library
// (OpenSSL 3.5, AWS-LC) can take its place. A ServerContext (towards clients) or ClientContext (towards backends) is
// built off the hot path and is immutable; a Session belongs to one connection.
//
// Before: the reactor. Next: h1_head.
#pragma once

#include <array>
#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/block.h"
#include "base/cause.h"
#include "base/clock.h"

namespace ebb::wire {

struct CertificateSource {
  std::string certificate_pem;  // leaf first, then intermediates
  std::string key_pem;
  std::string origin;                        // for messages: the file's name
  std::optional<std::string> ocsp_der = {};  // an OCSP response to staple
  std::string key_origin = {};               // for messages: the file of the key; "": as `origin`
};

// Certificates or revocation lists in PEM form.
struct PemSource {
  std::string pem;
  std::string origin;  // for messages: the file's name

  // Decided by the name: a file that was given and is empty must be refused, not taken for none.
  bool given() const { return !origin.empty(); }
};

// Keys that encrypt session tickets: one set for all workers and all contexts, so that a session started on one is
// resumed on any, also after a certificate was replaced. The newest encrypts, older ones still decrypt.
class TicketKeys {
 public:
  static constexpr std::size_t key_count = 3;
  TicketKeys();
  ~TicketKeys();
  // Called by the control plane; every call makes a new key and forgets the oldest.
  void rotate();

  struct Key {
    std::array<unsigned char, 16> name;
    std::array<unsigned char, 32> aes;
    std::array<unsigned char, 32> hmac;
  };
  Key newest() const;
  // False if no key has that name; `is_newest` tells whether the ticket should be renewed.
  bool find(const unsigned char* name, Key& out, bool& is_newest) const;

 private:
  mutable std::mutex mutex_;  // taken in handshakes only, for the copy of a key
  std::vector<Key> keys_;
};

enum class ClientCertificates : std::uint8_t {
  none,
  optional,  // a client may show none, but one that it shows must be good
  required,
};

struct ServerOptions {
  std::vector<CertificateSource> certificates;  // the first is the default
  bool refuse_unknown_names = false;            // else unknown or missing names get the default certificate
  bool tls13_only = false;                      // else TLS 1.2 is served too
  std::vector<std::string> alpn = {"http/1.1", "http/1.0"};  // in order of our preference
  ClientCertificates client_certificates = ClientCertificates::none;
  PemSource client_authorities = {};  // roots that issue certificates of clients
  PemSource client_revocations = {};  // none: not checked; else every authority of a chain needs a list that is not out
                                      // of date, or its certificates are refused
};

class ServerContext {
 public:
  // The error is a sentence that names the file and the remedy.
  static std::expected<std::shared_ptr<const ServerContext>, std::string> build(const ServerOptions& options,
                                                                                std::shared_ptr<TicketKeys> tickets);
  virtual ~ServerContext() = default;
  // Names that the certificates serve, lower case, for people and tests.
  virtual std::vector<std::string> names() const = 0;
  // Seconds since the epoch at which the first certificate expires.
  virtual std::int64_t first_expiry() const = 0;
  // The same for OCSP responses, which are not stapled any more from then on; INT64_MAX without one.
  virtual std::int64_t first_staple_expiry() const = 0;
};

// What a backend's certificate must have.
enum class BackendProof : std::uint8_t {
  name,     // a chain to an authority, and the name
  chain,    // a chain to an authority: any certificate of that authority will do
  nothing,  // none: encrypted, but anyone could be at the other end
};

struct ClientOptions {
  BackendProof proof = BackendProof::name;
  PemSource authorities;      // every certificate in it is trusted, also one that is no root; none: the system's store
  std::string verified_name;  // a DNS name or an IP address; needed for BackendProof::name
  std::string server_name;    // sent as SNI; "": none is sent
  std::optional<CertificateSource> certificate = {};  // shown to a backend that asks for one
  std::vector<std::string> alpn = {};                 // in order of our preference
  bool resume = true;  // false: every handshake is a full one, in which the certificate is shown and verified anew
};

// Also keeps the tickets that backends give, for the next session of any thread.
class ClientContext {
 public:
  // The error is a sentence that names the file and the remedy.
  static std::expected<std::shared_ptr<const ClientContext>, std::string> build(const ClientOptions& options);
  virtual ~ClientContext() = default;
  // Seconds since the epoch at which our certificate expires; INT64_MAX without one.
  virtual std::int64_t certificate_expiry() const = 0;
  // A digest of all options: contexts with the same one make connections of the same kind.
  virtual const std::string& fingerprint() const = 0;
};

struct PeerCertificate {
  bool verified = false;  // false only towards a backend that need not prove anything
  std::string sha256;     // of its DER form, in lower-case hexadecimal
  std::string subject;    // as RFC 2253 has it, in printable ASCII
  std::string issuer;
  std::string serial;       // in upper-case hexadecimal
  std::int64_t expiry = 0;  // seconds since the epoch
};

class TlsSession {
 public:
  enum class Status : std::uint8_t {
    open,      // go on
    finished,  // the peer sent close_notify: no more plaintext will come
    failed,    // see cause(); `cipher` may hold an alert that should still be sent
  };

  // The context must outlive the session; the caller holds it. A session stays on the thread that made it.
  explicit TlsSession(const ServerContext& context);
  explicit TlsSession(const ClientContext& context);
  TlsSession(TlsSession&&) noexcept;
  TlsSession& operator=(TlsSession&&) noexcept;
  ~TlsSession();

  // A session towards a backend speaks first: appends its ClientHello to `cipher`.
  Status start(base::BlockPool& pool, base::Chain& cipher);
  // Takes received bytes; appends decrypted ones to `plain` and what must be sent now (handshake, alerts, tickets) to
  // `cipher`. Before the handshake is done, `plain` stays empty.
  Status receive(base::BlockPool& pool, base::Slice received, base::Chain& plain, base::Chain& cipher);
  // Encrypts. Full records for bodies, one record for a small answer. While a handshake message of the peer is half
  // read, plaintext is held; the receive() that completes the message appends it, encrypted, to `cipher`.
  Status send(base::BlockPool& pool, base::Chain&& plain, base::Chain& cipher);
  std::size_t held() const;         // bytes of plaintext that wait so
  std::size_t held_memory() const;  // that they keep from being freed (base::Chain::held)
  // Nothing while plaintext is held: it would vouch for bytes that never left.
  void close_notify(base::BlockPool& pool, base::Chain& cipher);

  bool handshake_done() const;  // once true, always true: messages that come later do not undo it
  bool resumed() const;
  std::string_view protocol() const;     // "TLSv1.3"
  std::string_view alpn() const;         // "" if none
  std::string_view server_name() const;  // as asked by the client, lower case; "" if none, and towards backends
  // Whether requests for this host (lower case, without port) belong on this connection: it is the server name that the
  // client asked for, or the certificate that it got covers it. Else the answer is 421 (RFC 9110 section 15.5.20).
  bool serves(std::string_view host) const;
  // The certificate that the peer showed, also in the session that this one resumes; nullptr if none, and before the
  // handshake is done. Made at the first call.
  const PeerCertificate* peer_certificate() const;
  std::string peer_certificate_base64() const;  // its DER form; "" if none. Made at each call.
  base::Cause cause() const;                    // after Status::failed
  const char* why() const;                      // after Status::failed: in words

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ebb::wire
