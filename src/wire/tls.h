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
  std::string key_origin = {};               // for messages: the key's file; "": as `origin`
};

// Certificates or revocation lists in PEM form.
struct PemSource {
  std::string pem;
  std::string origin;  // for messages: the file's name

  // Decided by the name: an empty file must be refused, not taken for a missing one.
  bool given() const { return !origin.empty(); }
};

// Keys that encrypt session tickets: one set for all workers and contexts. A session started on one worker can resume
// on any, also after a certificate was replaced. The newest key encrypts, older keys still decrypt.
class TicketKeys {
 public:
  static constexpr std::size_t key_count = 3;
  TicketKeys();
  ~TicketKeys();
  // Called by the control plane; each call makes a new key and drops the oldest.
  void rotate();

  struct Key {
    std::array<unsigned char, 16> name;
    std::array<unsigned char, 32> aes;
    std::array<unsigned char, 32> hmac;
  };
  Key newest() const;
  // False if no key has that name; `is_newest` false means that the ticket should be renewed.
  bool find(const unsigned char* name, Key& out, bool& is_newest) const;

 private:
  mutable std::mutex mutex_;  // taken in handshakes only, to copy a key
  std::vector<Key> keys_;
};

enum class ClientCertificates : std::uint8_t {
  none,
  optional,  // a client may show none, but a shown one must be good
  required,
};

struct ServerOptions {
  std::vector<CertificateSource> certificates;               // the first is the default
  bool refuse_unknown_names = false;                         // else these get the default certificate
  bool tls13_only = false;                                   // else TLS 1.2 is accepted too
  std::vector<std::string> alpn = {"http/1.1", "http/1.0"};  // in order of preference
  ClientCertificates client_certificates = ClientCertificates::none;
  PemSource client_authorities = {};  // roots that issue client certificates
  PemSource client_revocations = {};  // none: not checked; else every authority of a chain needs a list that is not out
                                      // of date, or its certificates are refused
};

class ServerContext {
 public:
  // The error is a sentence that names the file and the remedy.
  static std::expected<std::shared_ptr<const ServerContext>, std::string> build(const ServerOptions& options,
                                                                                std::shared_ptr<TicketKeys> tickets);
  virtual ~ServerContext() = default;
  // Names that the certificates cover, lower case, for display and tests.
  virtual std::vector<std::string> names() const = 0;
  // Seconds since the epoch at which the first certificate expires.
  virtual std::int64_t first_expiry() const = 0;
  // The same for OCSP responses, which are not stapled after that time; INT64_MAX without one.
  virtual std::int64_t first_staple_expiry() const = 0;
};

// What a backend must prove by its certificate.
enum class BackendProof : std::uint8_t {
  name,     // a chain to an authority, and the name
  chain,    // a chain to an authority: any certificate of that authority passes
  nothing,  // encrypted, but the peer may be anyone
};

struct ClientOptions {
  BackendProof proof = BackendProof::name;
  PemSource authorities;      // trusts every certificate in it, also non-roots; none: the system's store
  std::string verified_name;  // a DNS name or an IP address; needed for BackendProof::name
  std::string server_name;    // sent as SNI; "": no SNI
  std::optional<CertificateSource> certificate = {};  // for a backend that requests one
  std::vector<std::string> alpn = {};                 // in order of preference
  bool resume = true;  // false: every handshake is full and verifies the certificate anew
};

// Also stores the backends' tickets, for the next session of any thread.
class ClientContext {
 public:
  // The error is a sentence that names the file and the remedy.
  static std::expected<std::shared_ptr<const ClientContext>, std::string> build(const ClientOptions& options);
  virtual ~ClientContext() = default;
  // Seconds since the epoch at which the router's certificate expires; INT64_MAX without one.
  virtual std::int64_t certificate_expiry() const = 0;
  // A digest of all options: contexts with equal digests make equivalent connections.
  virtual const std::string& fingerprint() const = 0;
};

struct PeerCertificate {
  bool verified = false;  // false only for a backend that need not prove anything
  std::string sha256;     // of its DER form, in lower-case hexadecimal
  std::string subject;    // RFC 2253 form, in printable ASCII
  std::string issuer;
  std::string serial;       // in upper-case hexadecimal
  std::int64_t expiry = 0;  // seconds since the epoch
};

class TlsSession {
 public:
  enum class Status : std::uint8_t {
    open,      // go on
    finished,  // the peer sent close_notify: no more plaintext will come
    failed,    // see cause(); `cipher` may hold an alert to send
  };

  // The caller keeps the context alive longer than the session. A session stays on the thread that made it.
  explicit TlsSession(const ServerContext& context);
  explicit TlsSession(const ClientContext& context);
  TlsSession(TlsSession&&) noexcept;
  TlsSession& operator=(TlsSession&&) noexcept;
  ~TlsSession();

  // For backends, where the router speaks first: appends the ClientHello to `cipher`.
  Status start(base::BlockPool& pool, base::Chain& cipher);
  // Takes received bytes. Appends decrypted bytes to `plain`, and output to send now (handshake, alerts, tickets) to
  // `cipher`. Before the handshake is done, `plain` stays empty.
  Status receive(base::BlockPool& pool, base::Slice received, base::Chain& plain, base::Chain& cipher);
  // Encrypts: full records for bodies, one record for a small answer. While the peer's handshake message is incomplete,
  // plaintext is held; the receive() that completes the message appends it, encrypted, to `cipher`.
  Status send(base::BlockPool& pool, base::Chain&& plain, base::Chain& cipher);
  std::size_t held() const;         // bytes of held plaintext
  std::size_t held_memory() const;  // memory that it keeps alive (base::Chain::held)
  // Does nothing while plaintext is held: close_notify would confirm bytes that were never sent.
  void close_notify(base::BlockPool& pool, base::Chain& cipher);

  bool handshake_done() const;  // never becomes false again: later messages do not undo it
  bool resumed() const;
  std::string_view protocol() const;     // "TLSv1.3"
  std::string_view alpn() const;         // "" if none
  std::string_view server_name() const;  // from the client, lower case; "" if none, and for backends
  // Whether requests for this host (lower case, without port) belong on this connection: the host is the client's
  // server name, or the certificate covers it. If not, answer 421 (RFC 9110 section 15.5.20).
  bool serves(std::string_view host) const;
  // The peer's certificate, also from the session that this session resumes. nullptr if there is none, and before the
  // handshake is done. Built at the first call.
  const PeerCertificate* peer_certificate() const;
  std::string peer_certificate_base64() const;  // its DER form; "" if none. Built at each call.
  base::Cause cause() const;                    // after Status::failed
  const char* why() const;                      // after Status::failed: for messages

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ebb::wire
