// Certificates of clients: who is let in, what is known about them, and that no ticket is a way around them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/err.h>

#include "wire/tls_authority.h"

namespace ebb::wire {
namespace {

using base::Cause;
using testing::HasSubstr;
using Status = TlsSession::Status;

class MutualTls : public testing::TestWithParam<int> {
 protected:
  ServerOptions options(ClientCertificates asked) const {
    ServerOptions options{.certificates = {certificate_}};
    options.client_certificates = asked;
    if (asked != ClientCertificates::none) options.client_authorities = {root_.pem(), "clients.pem"};
    return options;
  }
  std::shared_ptr<const ServerContext> built(const ServerOptions& options) const {
    auto context = ServerContext::build(options, keys_);
    EXPECT_TRUE(context.has_value()) << context.error();
    return context ? *context : nullptr;
  }
  PeerOptions client(std::optional<CertificateSource> certificate) const {
    return {.server_name = "shop.test", .version = GetParam(), .certificate = std::move(certificate)};
  }
  // Why the client was not let in.
  std::string refusal(const ServerOptions& server, std::optional<CertificateSource> certificate, int alert) const {
    const auto context = built(server);
    TlsPair pair(*context, client(std::move(certificate)));
    EXPECT_EQ(pair.carry(), Status::failed);
    EXPECT_EQ(pair.server.cause(), Cause::client_tls_untrusted);
    EXPECT_EQ(pair.client.alert(), alert);
    EXPECT_EQ(pair.server.peer_certificate(), nullptr);
    EXPECT_EQ(ERR_peek_error(), 0u);
    return pair.server.why();
  }
  void expect_welcome(const ServerOptions& server, std::optional<CertificateSource> certificate) const {
    const auto context = built(server);
    TlsPair pair(*context, client(certificate));
    EXPECT_EQ(pair.carry(), Status::open) << pair.server.why();
    EXPECT_TRUE(pair.server.handshake_done());
    EXPECT_EQ(pair.server.peer_certificate() != nullptr, certificate.has_value());
  }

  const TestAuthority root_{"Clients"};
  const CertificateSource certificate_ = ecdsa_source({"shop.test"});
  const CertificateSource alice_ = root_.issue({.common_name = "alice", .serial = 0xa11ce});
  const std::shared_ptr<TicketKeys> keys_ = std::make_shared<TicketKeys>();
};
INSTANTIATE_TEST_SUITE_P(Versions, MutualTls, testing::Values(TLS1_2_VERSION, TLS1_3_VERSION),
                         [](const auto& info) { return info.param == TLS1_2_VERSION ? "Tls12" : "Tls13"; });

TEST_P(MutualTls, RequiredLetsInWhoShowsAGoodCertificate) {
  expect_welcome(options(ClientCertificates::required), alice_);
  expect_welcome(options(ClientCertificates::required), root_.issue({.purpose = "clientAuth"}));
  const TestAuthority middle = root_.intermediate("Middle");
  CertificateSource chain = middle.issue({});
  chain.certificate_pem += middle.pem();
  expect_welcome(options(ClientCertificates::required), chain);
}

TEST_P(MutualTls, RequiredRefusesEverybodyElse) {
  const ServerOptions server = options(ClientCertificates::required);
  const int none_alert = GetParam() == TLS1_3_VERSION ? SSL_AD_CERTIFICATE_REQUIRED : SSL_AD_HANDSHAKE_FAILURE;
  EXPECT_EQ(refusal(server, {}, none_alert), "peer did not return a certificate");
  EXPECT_EQ(refusal(server, TestAuthority("Stranger").issue({}), SSL_AD_UNKNOWN_CA),
            "unable to get local issuer certificate");
  EXPECT_EQ(refusal(server, TestAuthority("Clients").issue({}), SSL_AD_DECRYPT_ERROR), "certificate signature failure");
  EXPECT_EQ(refusal(server, source(TestKey::ecdsa(), {}), SSL_AD_UNKNOWN_CA), "self-signed certificate");
  EXPECT_EQ(refusal(server, root_.issue({.valid_seconds = -60}), SSL_AD_CERTIFICATE_EXPIRED),
            "certificate has expired");
  EXPECT_EQ(refusal(server, root_.issue({.purpose = "serverAuth"}), SSL_AD_UNSUPPORTED_CERTIFICATE),
            "unsuitable certificate purpose");
}

TEST_P(MutualTls, OptionalLetsInWhoShowsNoneButNotWhoShowsABadOne) {
  const ServerOptions server = options(ClientCertificates::optional);
  expect_welcome(server, {});
  expect_welcome(server, alice_);
  EXPECT_EQ(refusal(server, TestAuthority("Stranger").issue({}), SSL_AD_UNKNOWN_CA),
            "unable to get local issuer certificate");
}

TEST_P(MutualTls, NoneDoesNotAsk) {
  const auto context = built(options(ClientCertificates::none));
  TlsPair pair(*context, client(alice_));
  EXPECT_EQ(pair.carry(), Status::open);
  EXPECT_EQ(pair.server.peer_certificate(), nullptr);
  EXPECT_EQ(pair.server.peer_certificate_base64(), "");
}

TEST_P(MutualTls, ClientsAreToldWhoseCertificatesAreTaken) {
  const auto context = built(options(ClientCertificates::optional));
  TlsPair pair(*context, client({}));
  pair.carry();
  const STACK_OF(X509_NAME)* names = SSL_get0_peer_CA_list(pair.client.ssl());
  ASSERT_EQ(sk_X509_NAME_num(names), 1);
  char text[64];
  X509_NAME_oneline(sk_X509_NAME_value(names, 0), text, sizeof(text));
  EXPECT_STREQ(text, "/CN=Clients");
}

TEST_P(MutualTls, RevokedCertificatesAreRefused) {
  ServerOptions server = options(ClientCertificates::required);
  server.client_revocations = {root_.crl_pem({3, 0xa11ce}), "clients.crl"};
  EXPECT_EQ(refusal(server, alice_, SSL_AD_CERTIFICATE_REVOKED), "certificate revoked");
  expect_welcome(server, root_.issue({.serial = 0xb0b}));
}

TEST_P(MutualTls, RevocationIsCheckedForTheWholeChain) {
  const TestAuthority middle = root_.intermediate("Middle");  // its serial number is 2
  CertificateSource chain = middle.issue({});
  chain.certificate_pem += middle.pem();
  ServerOptions server = options(ClientCertificates::required);
  server.client_revocations = {root_.crl_pem({}) + middle.crl_pem({}), "clients.crl"};
  expect_welcome(server, chain);
  server.client_revocations.pem = root_.crl_pem({2}) + middle.crl_pem({});
  EXPECT_EQ(refusal(server, chain, SSL_AD_CERTIFICATE_REVOKED), "certificate revoked");
  server.client_revocations.pem = root_.crl_pem({});
  EXPECT_EQ(refusal(server, chain, SSL_AD_UNKNOWN_CA), "unable to get certificate CRL");
}

TEST_P(MutualTls, ARevocationListThatIsOutOfDateLetsNobodyIn) {
  ServerOptions server = options(ClientCertificates::required);
  server.client_revocations = {root_.crl_pem({}, -60), "clients.crl"};
  EXPECT_EQ(refusal(server, alice_, SSL_AD_CERTIFICATE_EXPIRED), "CRL has expired");
}

TEST_P(MutualTls, TellsWhoTheClientIs) {
  const auto context = built(options(ClientCertificates::required));
  const CertificateSource certificate = root_.issue({.common_name = "al\xc3\xac"
                                                                    "ce, of \"R&D\"\n",
                                                     .serial = 0xa11ce});
  TlsPair pair(*context, client(certificate));
  EXPECT_EQ(pair.server.peer_certificate(), nullptr) << "before the handshake";
  ASSERT_EQ(pair.carry(), Status::open);
  const PeerCertificate* peer = pair.server.peer_certificate();
  ASSERT_NE(peer, nullptr);
  EXPECT_EQ(pair.server.peer_certificate(), peer) << "made twice";
  EXPECT_TRUE(peer->verified);
  EXPECT_EQ(peer->subject, "CN=al\\C3\\ACce\\, of \\\"R&D\\\"\\0A");
  EXPECT_EQ(peer->issuer, "CN=Clients");
  EXPECT_EQ(peer->serial, "0A11CE");

  // The base64 text is that of the PEM block; the fingerprint is of what it stands for.
  std::string pem = certificate.certificate_pem.substr(certificate.certificate_pem.find('\n'));
  pem.resize(pem.find("-----"));
  std::erase(pem, '\n');
  const std::string base64 = pair.server.peer_certificate_base64();
  EXPECT_EQ(base64, pem);
  std::string der(base64.size(), '\0');
  const int size =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(der.data()),
                      reinterpret_cast<const unsigned char*>(base64.data()), static_cast<int>(base64.size()));
  const auto padding = std::ranges::count(base64, '=');
  unsigned char digest[32];
  EVP_Digest(der.data(), static_cast<std::size_t>(size - padding), digest, nullptr, EVP_sha256(), nullptr);
  std::string hex;
  for (const unsigned char byte : digest) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  EXPECT_EQ(peer->sha256, hex);
}

// Connects once and then again with the ticket of the first, each at its own server.
class MutualTlsResumption : public MutualTls {
 protected:
  struct Second {
    bool resumed;
    Status status;
    std::string subject;
  };
  Second resume(const ServerOptions& at_first, std::optional<CertificateSource> certificate, const ServerOptions& then,
                std::optional<CertificateSource> shown_then) const {
    const auto first = built(at_first);
    const auto second = built(then);
    TlsPair before(*first, client(std::move(certificate)));
    EXPECT_EQ(before.carry(), Status::open) << before.server.why();
    SSL_SESSION* ticket = before.client.session();
    EXPECT_NE(ticket, nullptr);
    before.server.close_notify(before.pool, before.cipher);
    before.carry();
    before.client.close_notify();
    PeerOptions again = client(std::move(shown_then));
    again.resume = ticket;
    TlsPair after(*second, again);
    const Status status = after.carry();
    const PeerCertificate* peer = after.server.peer_certificate();
    EXPECT_TRUE(peer == nullptr || peer->verified);
    return {after.server.resumed(), status, peer == nullptr ? "" : peer->subject};
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, MutualTlsResumption, testing::Values(TLS1_2_VERSION, TLS1_3_VERSION),
                         [](const auto& info) { return info.param == TLS1_2_VERSION ? "Tls12" : "Tls13"; });

TEST_P(MutualTlsResumption, KeepsWhatIsKnownAboutTheClient) {
  for (const ClientCertificates asked : {ClientCertificates::required, ClientCertificates::optional}) {
    const Second second = resume(options(asked), alice_, options(asked), {});
    EXPECT_TRUE(second.resumed);
    EXPECT_EQ(second.status, Status::open);
    EXPECT_EQ(second.subject, "CN=alice");
  }
}

TEST_P(MutualTlsResumption, OfAClientWithoutACertificateKeepsThatToo) {
  const ServerOptions server = options(ClientCertificates::optional);
  const Second second = resume(server, {}, server, alice_);
  EXPECT_TRUE(second.resumed);
  EXPECT_EQ(second.subject, "");
}

TEST_P(MutualTlsResumption, IsNoWayAroundARequiredCertificate) {
  const ServerOptions required = options(ClientCertificates::required);
  for (const ClientCertificates weaker : {ClientCertificates::none, ClientCertificates::optional}) {
    const Second without = resume(options(weaker), {}, required, {});
    EXPECT_FALSE(without.resumed);
    EXPECT_EQ(without.status, Status::failed);
    const Second with = resume(options(weaker), {}, required, alice_);
    EXPECT_FALSE(with.resumed);
    EXPECT_EQ(with.status, Status::open);
    EXPECT_EQ(with.subject, "CN=alice");
  }
}

TEST_P(MutualTlsResumption, DoesNotMoveToListenersWithOtherAuthorities) {
  const TestAuthority others("Others");
  ServerOptions elsewhere = options(ClientCertificates::required);
  elsewhere.client_authorities = {others.pem(), "others.pem"};
  const Second second = resume(options(ClientCertificates::required), alice_, elsewhere, {});
  EXPECT_FALSE(second.resumed);
  EXPECT_EQ(second.status, Status::failed);
}

TEST_P(MutualTlsResumption, EndsWhenARevocationListIsReplaced) {
  ServerOptions before = options(ClientCertificates::required);
  before.client_revocations = {root_.crl_pem({}), "clients.crl"};
  ServerOptions after = before;
  after.client_revocations.pem = root_.crl_pem({0xa11ce});
  const Second second = resume(before, alice_, after, alice_);
  EXPECT_FALSE(second.resumed);
  EXPECT_EQ(second.status, Status::failed);
}

TEST_P(MutualTlsResumption, FromAListenerThatAsksWorksNowhereElse) {
  const Second second = resume(options(ClientCertificates::required), alice_, options(ClientCertificates::none), {});
  EXPECT_FALSE(second.resumed);
  EXPECT_EQ(second.status, Status::open);
  EXPECT_EQ(second.subject, "");
}

TEST_P(MutualTlsResumption, EndsWithTheCertificate) {
  const auto context = built(options(ClientCertificates::required));
  const auto life_of_ticket = [&](long certificate_seconds) {
    TlsPair pair(*context, client(root_.issue({.valid_seconds = certificate_seconds})));
    EXPECT_EQ(pair.carry(), Status::open);
    return SSL_SESSION_get_ticket_lifetime_hint(pair.client.session());
  };
  EXPECT_LE(life_of_ticket(600), 600u);
  EXPECT_EQ(life_of_ticket(86'400), 7200u);
}

TEST(MutualTlsBuild, RefusesWhatCannotBeUsedWithARemedy) {
  const TestAuthority root;
  const auto refusal = [](const ServerOptions& options) {
    auto context = ServerContext::build(options, std::make_shared<TicketKeys>());
    EXPECT_FALSE(context.has_value());
    return context ? "" : context.error();
  };
  ServerOptions options{.certificates = {ecdsa_source({"shop.test"})},
                        .client_certificates = ClientCertificates::required,
                        .client_authorities = {"", "clients.pem"}};
  EXPECT_THAT(refusal(options), HasSubstr("need authorities to be verified with: clients.pem holds no certificate"));
  options.client_authorities.pem = root.pem();
  options.client_revocations = {"", "clients.crl"};
  EXPECT_THAT(refusal(options), HasSubstr("clients.crl holds no revocation list"));
  options.client_revocations = {"nothing", "clients.crl"};
  EXPECT_THAT(refusal(options), HasSubstr("clients.crl holds no revocation list"));
  options.client_revocations.pem = root.crl_pem({}).replace(60, 8, "!!!!!!!!");
  EXPECT_THAT(refusal(options), HasSubstr("a revocation list in clients.crl cannot be decoded"));
  options.client_revocations = {};
  options.client_authorities.pem.clear();
  const std::string long_name(60, 'n');
  const std::string many = TestAuthority(long_name).pem();
  for (int i = 0; i < 1000; ++i) options.client_authorities.pem += many;
  EXPECT_THAT(refusal(options), HasSubstr("clients.pem do not fit into a handshake; keep only"));
}

}  // namespace
}  // namespace ebb::wire
