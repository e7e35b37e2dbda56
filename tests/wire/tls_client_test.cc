// Sessions towards backends: what they trust, what they say when they do not, and what they resume.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/err.h>

#include <thread>

#include "wire/tls_authority.h"
#include "wire/tls_backend.h"

namespace ebb::wire {
namespace {

using base::Cause;
using testing::HasSubstr;
using Status = TlsSession::Status;

std::shared_ptr<const ClientContext> built(const ClientOptions& options) {
  auto context = ClientContext::build(options);
  EXPECT_TRUE(context.has_value()) << context.error();
  return context ? *context : nullptr;
}

std::string refusal(const ClientOptions& options) {
  auto context = ClientContext::build(options);
  EXPECT_FALSE(context.has_value());
  return context ? "" : context.error();
}

class TlsClientOfEachVersion : public testing::TestWithParam<int> {
 protected:
  ClientOptions options(const std::string& name = "api.test") const {
    return {.authorities = {root_.pem(), "root.pem"}, .verified_name = name, .server_name = "api.test"};
  }
  TestBackend backend(const IssueFacts& facts) const { return backend(root_.issue(facts)); }
  TestBackend backend(const CertificateSource& certificate) const {
    return TestBackend({.certificate = certificate, .version = GetParam()});
  }
  void expect_trusted(const ClientOptions& client, const TestBackend& server) {
    const auto context = built(client);
    BackendPair pair(*context, server);
    EXPECT_EQ(pair.carry(), Status::open) << pair.session.why();
    EXPECT_TRUE(pair.session.handshake_done());
    EXPECT_TRUE(pair.backend_connected());
  }
  // Why the backend was not trusted.
  std::string distrust(const ClientOptions& client, const TestBackend& server, int alert) {
    const auto context = built(client);
    BackendPair pair(*context, server);
    EXPECT_EQ(pair.carry(), Status::failed);
    EXPECT_EQ(pair.session.cause(), Cause::backend_tls_untrusted);
    EXPECT_EQ(pair.alert, alert);
    EXPECT_FALSE(pair.backend_connected());
    EXPECT_EQ(ERR_peek_error(), 0u);
    return pair.session.why();
  }

  const TestAuthority root_;
};
INSTANTIATE_TEST_SUITE_P(Versions, TlsClientOfEachVersion, testing::Values(TLS1_2_VERSION, TLS1_3_VERSION),
                         [](const auto& info) { return info.param == TLS1_2_VERSION ? "Tls12" : "Tls13"; });

TEST_P(TlsClientOfEachVersion, TalksToABackend) {
  const auto context = built(options());
  const TestBackend server = backend({.names = {"api.test"}});
  BackendPair pair(*context, server);
  ASSERT_EQ(pair.carry(), Status::open) << pair.session.why();
  ASSERT_TRUE(pair.session.handshake_done());
  EXPECT_EQ(pair.session.protocol(), GetParam() == TLS1_2_VERSION ? "TLSv1.2" : "TLSv1.3");
  EXPECT_STREQ(SSL_get_servername(pair.backend.get(), TLSEXT_NAMETYPE_host_name), "api.test");

  const std::string request(100'000, 'q');
  base::Chain chain;
  for (std::size_t at = 0; at < request.size(); at += 10'000) chain.push(pair.pool.copy(request.substr(at, 10'000)));
  ASSERT_EQ(pair.session.send(pair.pool, std::move(chain), pair.cipher), Status::open);
  EXPECT_EQ(pair.carry(), Status::open);
  EXPECT_EQ(pair.backend_received, request);
  const std::string response(100'000, 'r');
  SSL_write(pair.backend.get(), response.data(), static_cast<int>(response.size()));
  EXPECT_EQ(pair.carry(), Status::open);
  EXPECT_EQ(pair.plain_text(), response);

  pair.session.close_notify(pair.pool, pair.cipher);
  pair.carry();
  EXPECT_NE(SSL_get_shutdown(pair.backend.get()) & SSL_RECEIVED_SHUTDOWN, 0);
  SSL_shutdown(pair.backend.get());
  EXPECT_EQ(pair.carry(), Status::finished);
  EXPECT_EQ(pair.pool.bytes_in_use(), 0u);
}

TEST_P(TlsClientOfEachVersion, TakesBytesInPiecesOfAnySize) {
  const auto context = built(options());
  const TestBackend server = backend({.names = {"api.test"}});
  for (const std::size_t piece : {1, 2, 3, 7, 100, 1000}) {
    BackendPair pair(*context, server);
    EXPECT_EQ(pair.carry(piece), Status::open) << piece;
    EXPECT_TRUE(pair.session.handshake_done());
    SSL_write(pair.backend.get(), "response", 8);
    EXPECT_EQ(pair.carry(piece), Status::open);
    EXPECT_EQ(pair.plain_text(), "response");
  }
}

TEST_P(TlsClientOfEachVersion, TrustsAnIntermediateThatTheBackendSends) {
  const TestAuthority middle = root_.intermediate("Middle");
  CertificateSource chain = middle.issue({.names = {"api.test"}});
  EXPECT_EQ(distrust(options(), backend(chain), SSL_AD_UNKNOWN_CA), "unable to get local issuer certificate");
  chain.certificate_pem += middle.pem();
  expect_trusted(options(), backend(chain));
}

TEST_P(TlsClientOfEachVersion, TrustsEveryCertificateOfTheBundle) {
  const TestAuthority middle = root_.intermediate("Middle");
  const CertificateSource leaf = middle.issue({.names = {"api.test"}});
  ClientOptions client = options();
  client.authorities.pem = TestAuthority("Other").pem() + middle.pem();
  expect_trusted(client, backend(leaf));
  client.authorities.pem = leaf.certificate_pem;
  expect_trusted(client, backend(leaf));
  const CertificateSource alone = source(TestKey::ecdsa(), {.names = {"api.test"}});
  client.authorities.pem = alone.certificate_pem;
  expect_trusted(client, backend(alone));
}

TEST_P(TlsClientOfEachVersion, DoesNotTrustAnotherAuthority) {
  const TestAuthority impostor;  // has the same name and another key
  EXPECT_EQ(distrust(options(), backend(impostor.issue({.names = {"api.test"}})), SSL_AD_DECRYPT_ERROR),
            "certificate signature failure");
  const TestAuthority stranger("Stranger");
  EXPECT_EQ(distrust(options(), backend(stranger.issue({.names = {"api.test"}})), SSL_AD_UNKNOWN_CA),
            "unable to get local issuer certificate");
}

TEST_P(TlsClientOfEachVersion, DoesNotTrustASelfSignedCertificate) {
  EXPECT_EQ(distrust(options(), backend(source(TestKey::ecdsa(), {.names = {"api.test"}})), SSL_AD_UNKNOWN_CA),
            "self-signed certificate");
}

TEST_P(TlsClientOfEachVersion, DoesNotTrustWithTheSystemsStoreWhatIsNotInIt) {
  ClientOptions client = options();
  client.authorities = {};
  EXPECT_EQ(distrust(client, backend({.names = {"api.test"}}), SSL_AD_UNKNOWN_CA),
            "unable to get local issuer certificate");
}

TEST_P(TlsClientOfEachVersion, DoesNotTrustAnExpiredCertificate) {
  EXPECT_EQ(distrust(options(), backend({.names = {"api.test"}, .valid_seconds = -60}), SSL_AD_CERTIFICATE_EXPIRED),
            "certificate has expired");
}

TEST_P(TlsClientOfEachVersion, DoesNotTrustACertificateForClients) {
  EXPECT_EQ(
      distrust(options(), backend({.names = {"api.test"}, .purpose = "clientAuth"}), SSL_AD_UNSUPPORTED_CERTIFICATE),
      "unsuitable certificate purpose");
}

TEST_P(TlsClientOfEachVersion, VerifiesTheName) {
  expect_trusted(options("api.test"), backend({.names = {"other.test", "API.test"}}));
  expect_trusted(options("API.Test."), backend({.names = {"api.test"}}));
  expect_trusted(options("a.api.test"), backend({.names = {"*.api.test"}}));
  expect_trusted(options("api.test"), backend({.common_name = "api.test"}));
  const std::pair<std::string, IssueFacts> wrong[] = {
      {"api.test", {.names = {"other.test"}}},
      {"api.test", {.names = {"*.api.test"}}},
      {"a.b.api.test", {.names = {"*.api.test"}}},
      {"a1.api.test", {.names = {"a*.api.test"}}},
      {"api.test", {.names = {"other.test"}, .common_name = "api.test"}},
      {"api.test", {.addresses = {"10.0.0.1"}}},
  };
  for (const auto& [name, facts] : wrong) {
    EXPECT_EQ(distrust(options(name), backend(facts), SSL_AD_BAD_CERTIFICATE), "hostname mismatch") << name;
  }
}

TEST_P(TlsClientOfEachVersion, VerifiesAddresses) {
  expect_trusted(options("10.0.0.1"), backend({.names = {"api.test"}, .addresses = {"10.0.0.1"}}));
  expect_trusted(options("fd00:0::1"), backend({.addresses = {"fd00::1"}}));
  expect_trusted(options("[fd00::1]"), backend({.addresses = {"fd00::1"}}));
  EXPECT_EQ(distrust(options("10.0.0.2"), backend({.addresses = {"10.0.0.1"}}), SSL_AD_BAD_CERTIFICATE),
            "IP address mismatch");
  EXPECT_EQ(distrust(options("10.0.0.1"), backend({.names = {"10.0.0.1"}}), SSL_AD_BAD_CERTIFICATE),
            "IP address mismatch");
}

TEST_P(TlsClientOfEachVersion, MayVerifyTheChainOnly) {
  ClientOptions client = options("");
  client.proof = BackendProof::chain;
  expect_trusted(client, backend({.names = {"whatever.test"}}));
  EXPECT_EQ(distrust(client, backend(TestAuthority("Stranger").issue({})), SSL_AD_UNKNOWN_CA),
            "unable to get local issuer certificate");
}

TEST_P(TlsClientOfEachVersion, MayVerifyNothing) {
  expect_trusted({.proof = BackendProof::nothing},
                 backend(source(TestKey::ecdsa(), {.names = {"other.test"}, .valid_seconds = -60})));
}

TEST_P(TlsClientOfEachVersion, SendsNoNameUnlessToldTo) {
  const auto context = built({.proof = BackendProof::nothing});
  const TestBackend server = backend(root_.issue({}));
  BackendPair pair(*context, server);
  EXPECT_EQ(pair.carry(), Status::open);
  EXPECT_EQ(SSL_get_servername(pair.backend.get(), TLSEXT_NAMETYPE_host_name), nullptr);
}

TEST_P(TlsClientOfEachVersion, ShowsItsCertificateToABackendThatAsks) {
  const TestAuthority clients("Clients");
  const TestBackend server({.certificate = root_.issue({.names = {"api.test"}}),
                            .version = GetParam(),
                            .client_authorities = clients.pem()});
  ClientOptions client = options();
  client.certificate = clients.issue({.common_name = "router"});
  const auto context = built(client);
  BackendPair pair(*context, server);
  EXPECT_EQ(pair.carry(), Status::open) << pair.session.why();
  ASSERT_TRUE(pair.backend_connected());
  EXPECT_NE(SSL_get0_peer_certificate(pair.backend.get()), nullptr);
  EXPECT_LT(context->certificate_expiry(), INT64_MAX);
}

TEST_P(TlsClientOfEachVersion, FailsInWordsIfTheBackendRefusesItsCertificate) {
  const TestAuthority clients("Clients");
  const TestBackend server({.certificate = root_.issue({.names = {"api.test"}}),
                            .version = GetParam(),
                            .client_authorities = clients.pem()});
  const auto without = built(options());
  BackendPair none(*without, server);
  EXPECT_EQ(none.carry(), Status::failed);
  EXPECT_EQ(none.session.cause(), Cause::backend_tls_failed);
  EXPECT_THAT(none.session.why(), GetParam() == TLS1_3_VERSION ? HasSubstr("alert certificate required")
                                                               : HasSubstr("alert handshake failure"));
  ClientOptions client = options();
  client.certificate = TestAuthority("Stranger").issue({});
  const auto stranger = built(client);
  BackendPair wrong(*stranger, server);
  EXPECT_EQ(wrong.carry(), Status::failed);
  EXPECT_THAT(wrong.session.why(), HasSubstr("alert unknown ca"));
}

TEST_P(TlsClientOfEachVersion, ResumesWithTheTicketsOfItsContext) {
  const auto context = built(options());
  const TestBackend server = backend({.names = {"api.test"}});
  for (int round = 0; round < 5; ++round) {
    BackendPair pair(*context, server);
    EXPECT_EQ(pair.carry(), Status::open);
    EXPECT_EQ(pair.session.resumed(), round > 0) << round;
    EXPECT_EQ(SSL_session_reused(pair.backend.get()), round > 0 ? 1 : 0);
  }
  const auto other = built(options());
  BackendPair pair(*other, server);
  EXPECT_EQ(pair.carry(), Status::open);
  EXPECT_FALSE(pair.session.resumed()) << "tickets belong to a context: it knows what was verified";
}

TEST_P(TlsClientOfEachVersion, ShakesHandsInFullWhereATicketIsNotTaken) {
  const auto context = built(options());
  const TestBackend before = backend({.names = {"api.test"}});
  const TestBackend after = backend({.names = {"api.test"}});  // has other ticket keys
  BackendPair first(*context, before);
  first.carry();
  BackendPair second(*context, after);
  EXPECT_EQ(second.carry(), Status::open) << second.session.why();
  EXPECT_FALSE(second.session.resumed());
}

TEST_P(TlsClientOfEachVersion, SharesItsTicketsAmongThreads) {
  const auto context = built(options());
  const TestBackend server = backend({.names = {"api.test"}});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        BackendPair pair(*context, server);
        EXPECT_EQ(pair.carry(), Status::open);
        EXPECT_TRUE(pair.session.handshake_done());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(TlsClientOfEachVersion, FailsWithoutCertificatesToBlameWhereTheBackendSpeaksNoTls) {
  const auto context = built(options());
  const TestBackend server = backend({.names = {"api.test"}});
  BackendPair pair(*context, server);
  ASSERT_EQ(pair.session.start(pair.pool, pair.cipher), Status::open);
  EXPECT_EQ(
      pair.session.receive(pair.pool, pair.pool.copy("HTTP/1.1 400 Bad Request\r\n\r\n"), pair.plain, pair.cipher),
      Status::failed);
  EXPECT_EQ(pair.session.cause(), Cause::backend_tls_failed);
  EXPECT_STREQ(pair.session.why(), "wrong version number");
}

TEST(TlsClient, UsesATicketForOneConnectionOnly) {
  const auto context = built({.proof = BackendProof::nothing});
  const TestBackend server({.certificate = ecdsa_source({"api.test"}), .version = TLS1_3_VERSION});
  BackendPair first(*context, server);
  first.carry();  // brings two tickets
  BackendPair second(*context, server);
  BackendPair third(*context, server);
  BackendPair fourth(*context, server);
  for (BackendPair* pair : {&second, &third, &fourth}) {
    EXPECT_EQ(pair->carry(), Status::open);
    EXPECT_EQ(pair->session.resumed(), pair != &fourth);
  }
}

TEST(TlsClient, NegotiatesAProtocol) {
  const auto context = built({.proof = BackendProof::nothing, .alpn = {"h2", "http/1.1"}});
  const TestBackend server({.certificate = ecdsa_source({"api.test"}), .alpn = "h2"});
  BackendPair pair(*context, server);
  EXPECT_EQ(pair.carry(), Status::open);
  EXPECT_EQ(pair.session.alpn(), "h2");
  const TestBackend silent({.certificate = ecdsa_source({"api.test"})});
  BackendPair none(*context, silent);
  EXPECT_EQ(none.carry(), Status::open);
  EXPECT_EQ(none.session.alpn(), "");
}

TEST(TlsClient, RefusesVersionsBeforeTls12) {
  const auto context = built({.proof = BackendProof::nothing});
  const TestBackend server({.certificate = ecdsa_source({"api.test"}), .version = TLS1_1_VERSION});
  BackendPair pair(*context, server);
  EXPECT_EQ(pair.carry(), Status::failed);
  EXPECT_EQ(pair.session.cause(), Cause::backend_tls_failed);
}

TEST(TlsClientBuild, RefusesWhatCannotBeUsedWithARemedy) {
  EXPECT_THAT(refusal({}), HasSubstr("cannot be the name in a backend's certificate; give a host name"));
  EXPECT_THAT(refusal({.verified_name = "*.test"}), HasSubstr("\"*.test\" cannot be the name"));
  EXPECT_THAT(refusal({.authorities = {"", "ca.pem"}, .verified_name = "a.test"}),
              HasSubstr("ca.pem holds no certificate"));
  EXPECT_THAT(refusal({.authorities = {"nothing", "ca.pem"}, .verified_name = "a.test"}),
              HasSubstr("ca.pem holds no certificate"));
  EXPECT_THAT(refusal({.verified_name = "a.test", .server_name = "a b"}), HasSubstr("(SNI); give a host name"));
  for (const char* address : {"10.0.0.1", "fd00::1", "[fd00::1]"}) {
    EXPECT_THAT(refusal({.verified_name = "a.test", .server_name = address}), HasSubstr("(SNI); give a host name"));
  }
  EXPECT_THAT(refusal({.proof = BackendProof::nothing, .alpn = {""}}), HasSubstr("ALPN"));
  CertificateSource mixed = source(TestKey::ecdsa(), {}, "mixed.pem");
  mixed.key_pem = TestKey::ecdsa().pem();
  EXPECT_THAT(refusal({.proof = BackendProof::nothing, .certificate = mixed}), HasSubstr("mixed.pem does not belong"));
}

// The two sides of the router against each other, every split.
TEST(TlsClient, TalksToAServerSessionInPiecesOfAnySize) {
  const TestAuthority root;
  const auto server_context =
      ServerContext::build({.certificates = {root.issue({.names = {"api.test"}})}}, std::make_shared<TicketKeys>());
  ASSERT_TRUE(server_context.has_value());
  const auto client_context =
      built({.authorities = {root.pem(), "root.pem"}, .verified_name = "api.test", .server_name = "api.test"});
  base::BlockPool pool;
  for (std::size_t piece = 1; piece < 400; piece += piece < 20 ? 1 : 37) {
    TlsSession client(*client_context);
    TlsSession server(**server_context);
    base::Chain to_server;
    base::Chain to_client;
    base::Chain plain;
    ASSERT_EQ(client.start(pool, to_server), Status::open);
    while (!to_server.empty() || !to_client.empty()) {
      const std::string up = text_of(to_server);
      to_server.clear();
      for (std::size_t at = 0; at < up.size(); at += piece) {
        ASSERT_EQ(server.receive(pool, pool.copy(up.substr(at, piece)), plain, to_client), Status::open);
      }
      const std::string down = text_of(to_client);
      to_client.clear();
      for (std::size_t at = 0; at < down.size(); at += piece) {
        ASSERT_EQ(client.receive(pool, pool.copy(down.substr(at, piece)), plain, to_server), Status::open);
      }
    }
    EXPECT_TRUE(client.handshake_done() && server.handshake_done());
    EXPECT_EQ(client.resumed(), piece > 1);
    EXPECT_EQ(server.server_name(), "api.test");
  }
}

}  // namespace
}  // namespace ebb::wire
