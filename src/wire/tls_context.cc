#include "wire/tls_context.h"

#include <openssl/sha.h>

#include <algorithm>
#include <map>

#include "wire/host_name.h"
#include "wire/tls_settings.h"
#include "wire/tls_tickets.h"

namespace ebb::wire {

namespace {

// Two hours: keys rotate each hour and two former keys are kept, so a ticket can be opened for its whole life.
constexpr long ticket_life_seconds = 2 * 60 * 60;
// One, not OpenSSL's two: each costs a record, an encryption and a session copy in every full handshake.
constexpr std::size_t tickets_per_handshake = 1;

// RFC 6066 section 3: a list of {type, length, name} behind its own length; only one host_name may be in it. A
// malformed list yields "", and OpenSSL refuses it when it parses the extension itself.
std::string_view server_name_in(const unsigned char* extension, std::size_t size) {
  constexpr std::size_t before_name = 5;
  if (size <= before_name || extension[2] != TLSEXT_NAMETYPE_host_name) return {};
  const std::size_t length = std::size_t{extension[3]} << 8 | extension[4];
  if (length != size - before_name) return {};
  return {reinterpret_cast<const char*>(extension) + before_name, length};
}

}  // namespace

std::expected<std::shared_ptr<const ServerContext>, std::string> ServerContext::build(
    const ServerOptions& options, std::shared_ptr<TicketKeys> tickets) {
  return OpensslServerContext::build(options, std::move(tickets));
}

OpensslServerContext::OpensslServerContext(const ServerOptions& options, std::shared_ptr<TicketKeys> tickets,
                                           std::string alpn_wire, ClientPolicy policy)
    : tickets_(std::move(tickets)),
      policy_(std::move(policy)),
      refuse_unknown_names_(options.refuse_unknown_names),
      tls13_only_(options.tls13_only),
      alpn_wire_(std::move(alpn_wire)) {
  EBB_ASSERT(tickets_ != nullptr);
}

std::expected<std::shared_ptr<const ServerContext>, std::string> OpensslServerContext::build(
    const ServerOptions& options, std::shared_ptr<TicketKeys> tickets) {
  if (options.certificates.empty()) {
    return std::unexpected("no certificate is configured for a TLS listener; name at least one certificate and key");
  }
  auto alpn_wire = alpn_wire_format(options.alpn);
  if (!alpn_wire) return std::unexpected(alpn_wire.error());
  auto policy = ClientPolicy::read(options);
  if (!policy) return std::unexpected(policy.error());
  std::vector<Certificate> certificates;
  for (const CertificateSource& source : options.certificates) {
    auto certificate = read_certificate(source);
    if (!certificate) return std::unexpected(certificate.error());
    certificates.push_back(std::move(*certificate));
  }
  std::shared_ptr<OpensslServerContext> context(
      new OpensslServerContext(options, std::move(tickets), std::move(*alpn_wire), std::move(*policy)));
  if (auto added = context->add_staples(options, certificates); !added) return std::unexpected(added.error());
  if (auto added = context->add_names(certificates); !added) return std::unexpected(added.error());
  return context;
}

std::expected<void, std::string> OpensslServerContext::add_staples(const ServerOptions& options,
                                                                   const std::vector<Certificate>& certificates) {
  for (std::size_t i = 0; i < certificates.size(); ++i) {
    const CertificateSource& source = options.certificates[i];
    if (!source.ocsp_der) continue;
    const X509* leaf = certificates[i].leaf.get();
    auto staple = read_staple(*source.ocsp_der, leaf, source.origin);
    if (!staple) return std::unexpected(staple.error());
    first_staple_expiry_ = std::min(first_staple_expiry_, staple->expiry);
    staples_.emplace(leaf, std::move(*staple));
  }
  return {};
}

// Groups the certificates by name; of each key type, the first in the configuration wins. Equal groups share one
// SSL_CTX.
std::expected<void, std::string> OpensslServerContext::add_names(const std::vector<Certificate>& certificates) {
  using Members = std::vector<const Certificate*>;
  std::map<std::string, Members> members_by_name;
  for (const Certificate& certificate : certificates) {
    first_expiry_ = std::min(first_expiry_, certificate.expiry);
    for (const std::string& name : certificate.names) {
      Members& members = members_by_name[name];
      const auto same_type = [&](const Certificate* other) { return other->key_type() == certificate.key_type(); };
      if (std::ranges::none_of(members, same_type)) members.push_back(&certificate);
    }
  }

  std::map<Members, const Group*> groups;
  const auto group_of = [&](const Members& members) -> std::expected<const Group*, std::string> {
    if (const auto known = groups.find(members); known != groups.end()) return known->second;
    auto made = make_group(members);
    if (made) groups.emplace(members, *made);
    return made;
  };
  for (const auto& [name, members] : members_by_name) {
    auto group = group_of(members);
    if (!group) return std::unexpected(group.error());
    by_name_.emplace(name, Choice{*group, identity_of(name)});
  }

  const Certificate& first = certificates.front();
  auto group = group_of(first.names.empty() ? Members{&first} : members_by_name[first.names.front()]);
  if (!group) return std::unexpected(group.error());
  default_ = {*group, identity_of(first.names.empty() ? first.origin : first.names.front())};
  return {};
}

std::expected<const OpensslServerContext::Group*, std::string> OpensslServerContext::make_group(
    const std::vector<const Certificate*>& certificates) {
  SslContextPointer context(SSL_CTX_new(TLS_server_method()));
  EBB_ASSERT(context != nullptr);
  configure(context.get());
  for (const Certificate* certificate : certificates) {
    if (auto used = use_certificate(context.get(), *certificate); !used) return std::unexpected(used.error());
  }
  groups_.push_back(std::make_unique<const Group>(std::move(context), CoveredNames(certificates)));
  return groups_.back().get();
}

void OpensslServerContext::configure(SSL_CTX* context) {
  use_common_settings(context);
  if (tls13_only_) SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_timeout(context, ticket_life_seconds);
  SSL_CTX_set_num_tickets(context, tickets_per_handshake);
  use_ticket_keys(context, *tickets_);
  policy_.apply(context);
  if (!staples_.empty()) {
    SSL_CTX_set_tlsext_status_cb(context, on_status_request);
    SSL_CTX_set_tlsext_status_arg(context, this);
  }
  SSL_CTX_set_client_hello_cb(context, on_client_hello, this);
  if (!alpn_wire_.empty()) SSL_CTX_set_alpn_select_cb(context, on_alpn, this);
}

// Neither names nor file names contain NUL, so different pairs give different texts.
OpensslServerContext::Identity OpensslServerContext::identity_of(std::string_view matched_name) const {
  const std::string text = std::string(matched_name) + '\0' + policy_.identity();
  Identity identity;
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), identity.data());
  return identity;
}

// The exact name, or the wildcard for its first label; nullptr if the name must be refused.
const OpensslServerContext::Choice* OpensslServerContext::choose(std::string_view name) const {
  if (const auto exact = by_name_.find(name); exact != by_name_.end()) return &exact->second;
  const std::size_t dot = name.find('.');
  if (dot != std::string_view::npos && dot > 0) {
    const std::string wildcard = "*" + std::string(name.substr(dot));
    if (const auto found = by_name_.find(wildcard); found != by_name_.end()) return &found->second;
  }
  return refuse_unknown_names_ ? nullptr : &default_;
}

// Runs before OpenSSL checks tickets, versions and suites, so that all of them use the chosen certificate.
int OpensslServerContext::on_client_hello(SSL* ssl, int* alert, void* self) {
  const auto& context = *static_cast<const OpensslServerContext*>(self);
  Greeting& greeting = *current_transfer(ssl).greeting;
  const unsigned char* extension = nullptr;
  std::size_t size = 0;
  if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &extension, &size) == 1) {
    greeting.server_name = normal_name(server_name_in(extension, size));
    if (greeting.server_name.starts_with('*')) greeting.server_name.clear();
  }
  const Choice* choice = context.choose(greeting.server_name);
  if (choice == nullptr) {
    greeting.name_refused = true;
    *alert = SSL_AD_UNRECOGNIZED_NAME;
    return SSL_CLIENT_HELLO_ERROR;
  }
  greeting.covered = &choice->group->covered;
  SSL_CTX* chosen = choice->group->context.get();
  if (SSL_get_SSL_CTX(ssl) != chosen) SSL_set_SSL_CTX(ssl, chosen);
  SSL_set_session_id_context(ssl, choice->identity.data(), static_cast<unsigned int>(choice->identity.size()));
  return SSL_CLIENT_HELLO_SUCCESS;
}

int OpensslServerContext::on_alpn(SSL*, const unsigned char** chosen, unsigned char* chosen_size,
                                  const unsigned char* offered, unsigned int offered_size, void* self) {
  const std::string& ours = static_cast<const OpensslServerContext*>(self)->alpn_wire_;
  unsigned char* match = nullptr;
  const int result = SSL_select_next_proto(&match, chosen_size, reinterpret_cast<const unsigned char*>(ours.data()),
                                           static_cast<unsigned int>(ours.size()), offered, offered_size);
  *chosen = match;
  // RFC 7301 section 3.2: no overlap ends the handshake with no_application_protocol, which this result sends.
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

// Runs after the certificate was chosen.
int OpensslServerContext::on_status_request(SSL* ssl, void* self) {
  const auto& staples = static_cast<const OpensslServerContext*>(self)->staples_;
  const auto found = staples.find(SSL_get_certificate(ssl));
  return found == staples.end() ? SSL_TLSEXT_ERR_NOACK : give_staple(ssl, found->second);
}

std::vector<std::string> OpensslServerContext::names() const {
  std::vector<std::string> names;
  for (const auto& [name, choice] : by_name_) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

SslPointer OpensslServerContext::new_session() const {
  SslPointer ssl = new_session_of(default_.group->context.get());
  SSL_set_accept_state(ssl.get());
  return ssl;
}

}  // namespace ebb::wire
