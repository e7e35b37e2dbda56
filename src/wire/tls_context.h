// The ServerContext on OpenSSL: one SSL_CTX per set of certificates for the same name (such as one ECDSA and one RSA),
// and a map from names to them. The ClientHello callback chooses; nothing changes after build().
#pragma once

#include <array>
#include <unordered_map>

#include "wire/tls_bio.h"
#include "wire/tls_names.h"
#include "wire/tls_staple.h"
#include "wire/tls_trust.h"

namespace ebb::wire {

class OpensslServerContext final : public ServerContext {
 public:
  static std::expected<std::shared_ptr<const ServerContext>, std::string> build(const ServerOptions& options,
                                                                                std::shared_ptr<TicketKeys> tickets);
  std::vector<std::string> names() const override;
  std::int64_t first_expiry() const override { return first_expiry_; }
  std::int64_t first_staple_expiry() const override { return first_staple_expiry_; }

  SslPointer new_session() const;

 private:
  // OpenSSL resumes a session only within its session id context, and does not compare server names in TLS 1.3. The
  // matched name is therefore the context: a session survives the replacement of its certificate but never moves to
  // another certificate's name. The policy for client certificates is part of it too.
  using Identity = std::array<unsigned char, 32>;
  static_assert(sizeof(Identity) <= SSL_MAX_SID_CTX_LENGTH);
  struct Group {
    SslContextPointer context;
    CoveredNames covered;
  };
  struct Choice {
    const Group* group = nullptr;
    Identity identity{};
  };

  OpensslServerContext(const ServerOptions& options, std::shared_ptr<TicketKeys> tickets, std::string alpn_wire,
                       ClientPolicy policy);
  std::expected<void, std::string> add_staples(const ServerOptions& options,
                                               const std::vector<Certificate>& certificates);
  std::expected<void, std::string> add_names(const std::vector<Certificate>& certificates);
  std::expected<const Group*, std::string> make_group(const std::vector<const Certificate*>& certificates);
  void configure(SSL_CTX* context);
  const Choice* choose(std::string_view name) const;

  Identity identity_of(std::string_view matched_name) const;
  static int on_client_hello(SSL* ssl, int* alert, void* self);
  static int on_alpn(SSL* ssl, const unsigned char** chosen, unsigned char* chosen_size, const unsigned char* offered,
                     unsigned int offered_size, void* self);
  static int on_status_request(SSL* ssl, void* self);

  std::shared_ptr<TicketKeys> tickets_;
  ClientPolicy policy_;
  std::unordered_map<const X509*, Staple> staples_;  // by leaf
  std::vector<std::unique_ptr<const Group>> groups_;
  std::unordered_map<std::string, Choice, NameHash, std::equal_to<>> by_name_;
  Choice default_;
  bool refuse_unknown_names_;
  bool tls13_only_;
  std::string alpn_wire_;  // wire format: each name preceded by its length
  std::int64_t first_expiry_ = INT64_MAX;
  std::int64_t first_staple_expiry_ = INT64_MAX;
};

}  // namespace ebb::wire
