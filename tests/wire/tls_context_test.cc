// Which certificate a client gets, which protocol, and what is said about certificates that cannot be served.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/tls_peer.h"

namespace ebb::wire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Status = TlsSession::Status;

std::shared_ptr<const ServerContext> built(const ServerOptions& options) {
  auto context = ServerContext::build(options, std::make_shared<TicketKeys>());
  EXPECT_TRUE(context.has_value()) << context.error();
  return *context;
}

std::string refusal(const ServerOptions& options) {
  auto context = ServerContext::build(options, std::make_shared<TicketKeys>());
  EXPECT_FALSE(context.has_value());
  return context ? "" : context.error();
}

// The first name of the certificate that a client gets when it asks for `server_name`.
std::string leaf_for(const ServerContext& context, const std::string& server_name, int version = 0) {
  TlsPair pair(context, {.server_name = server_name, .version = version});
  EXPECT_EQ(pair.carry(), Status::open);
  return pair.server.handshake_done() ? pair.client.leaf_name() : "no handshake";
}

TEST(TlsNames, ChooseTheExactNameBeforeTheWildcard) {
  const auto context = built({.certificates = {ecdsa_source({"default.test"}), ecdsa_source({"*.example.test"}),
                                               ecdsa_source({"shop.example.test", "www.shop.test"})}});
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    EXPECT_EQ(leaf_for(*context, "shop.example.test", version), "shop.example.test");
    EXPECT_EQ(leaf_for(*context, "WWW.Shop.test", version), "shop.example.test");
    EXPECT_EQ(leaf_for(*context, "other.example.test", version), "*.example.test");
    EXPECT_EQ(leaf_for(*context, "other.example.test.", version), "*.example.test");
  }
}

TEST(TlsNames, LetAWildcardStandForOneLabelOnly) {
  const auto context = built({.certificates = {ecdsa_source({"default.test"}), ecdsa_source({"*.example.test"})}});
  EXPECT_EQ(leaf_for(*context, "a.b.example.test"), "default.test");
  EXPECT_EQ(leaf_for(*context, "example.test"), "default.test");
}

TEST(TlsNames, GiveTheDefaultToUnknownAndMissingNames) {
  const auto context = built({.certificates = {ecdsa_source({"default.test"}), ecdsa_source({"shop.test"})}});
  EXPECT_EQ(leaf_for(*context, "unknown.test"), "default.test");
  EXPECT_EQ(leaf_for(*context, ""), "default.test");
}

TEST(TlsNames, RefuseUnknownAndMissingNamesWhenToldTo) {
  const auto context = built({.certificates = {ecdsa_source({"shop.test"})}, .refuse_unknown_names = true});
  EXPECT_EQ(leaf_for(*context, "shop.test"), "shop.test");
  for (const char* name : {"unknown.test", "", "sub.shop.test", "no such name"}) {
    TlsPair pair(*context, {.server_name = name});
    EXPECT_EQ(pair.carry(), Status::failed) << name;
    EXPECT_EQ(pair.server.cause(), base::Cause::client_tls_name_refused) << name;
    EXPECT_EQ(pair.client.alert(), SSL_AD_UNRECOGNIZED_NAME) << name;
  }
}

TEST(TlsNames, DoNotMatchAWildcardLiterally) {
  const auto context = built({.certificates = {ecdsa_source({"*.example.test"})}, .refuse_unknown_names = true});
  TlsPair pair(*context, {.server_name = "*.example.test"});
  EXPECT_EQ(pair.carry(), Status::failed);
}

TEST(TlsNames, ComeFromTheCommonNameOnlyWithoutAlternativeNames) {
  const auto context =
      built({.certificates = {source(TestKey::ecdsa(), {.names = {"B.test", "a.test"}, .common_name = "unused.test"}),
                              source(TestKey::ecdsa(), {.common_name = "Common.test"})}});
  EXPECT_THAT(context->names(), ElementsAre("a.test", "b.test", "common.test"));
}

TEST(TlsNames, LeaveOutWhatIsNoHostName) {
  const auto context = built({.certificates = {ecdsa_source({"f*.test", "*.*.test", "*", "good.test", "a b"})}});
  EXPECT_THAT(context->names(), ElementsAre("good.test"));
}

class TwoKinds : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto rsa = TestKey::rsa();
    context_ = built({.certificates = {source(rsa, {.names = {"both.test"}}), ecdsa_source({"both.test", "ec.test"}),
                                       source(rsa, {.names = {"rsa.test"}})}});
  }
  static void TearDownTestSuite() { context_.reset(); }
  static int key_type_for(const PeerOptions& options) {
    TlsPair pair(*context_, options);
    EXPECT_EQ(pair.carry(), Status::open);
    return pair.client.connected() ? pair.client.leaf_key_type() : 0;
  }
  static inline std::shared_ptr<const ServerContext> context_;
};

TEST_F(TwoKinds, PreferEcdsaWhereBothServeTheName) {
  EXPECT_EQ(key_type_for({.server_name = "both.test", .version = TLS1_2_VERSION}), EVP_PKEY_EC);
  EXPECT_EQ(key_type_for({.server_name = "both.test", .version = TLS1_3_VERSION}), EVP_PKEY_EC);
}

TEST_F(TwoKinds, GiveRsaToClientsThatKnowNothingElse) {
  EXPECT_EQ(key_type_for(
                {.server_name = "both.test", .version = TLS1_2_VERSION, .tls12_suites = "ECDHE-RSA-AES128-GCM-SHA256"}),
            EVP_PKEY_RSA);
  EXPECT_EQ(key_type_for(
                {.server_name = "both.test", .version = TLS1_3_VERSION, .signature_algorithms = "rsa_pss_rsae_sha256"}),
            EVP_PKEY_RSA);
}

TEST_F(TwoKinds, GiveTheOnlyOneWhereOnlyOneServesTheName) {
  EXPECT_EQ(key_type_for({.server_name = "rsa.test"}), EVP_PKEY_RSA);
  EXPECT_EQ(key_type_for({.server_name = "ec.test"}), EVP_PKEY_EC);
}

TEST_F(TwoKinds, FailWithAnAlertWhereTheClientCanUseNeither) {
  TlsPair pair(*context_,
               {.server_name = "ec.test", .version = TLS1_3_VERSION, .signature_algorithms = "rsa_pss_rsae_sha256"});
  EXPECT_EQ(pair.carry(), Status::failed);
  EXPECT_EQ(pair.server.cause(), base::Cause::client_tls_failed);
  EXPECT_EQ(pair.client.alert(), SSL_AD_HANDSHAKE_FAILURE);
}

TEST(TlsCertificates, SendTheIntermediates) {
  const TestKey leaf = TestKey::ecdsa();
  CertificateSource chain = source(leaf, {.names = {"shop.test"}});
  chain.certificate_pem += self_signed_pem(TestKey::ecdsa(), {.common_name = "Intermediate"});
  const auto context = built({.certificates = {chain}});
  TlsPair pair(*context);
  pair.carry();
  EXPECT_EQ(sk_X509_num(SSL_get_peer_cert_chain(pair.client.ssl())), 2);
}

TEST(TlsAlpn, FollowsOurPreference) {
  const auto context = built({.certificates = {ecdsa_source({"shop.test"})}, .alpn = {"h2", "http/1.1"}});
  TlsPair pair(*context, {.alpn_wire = "\x08http/1.1\x02h2"});
  EXPECT_EQ(pair.carry(), Status::open);
  EXPECT_EQ(pair.server.alpn(), "h2");
  EXPECT_EQ(pair.client.alpn(), "h2");
}

TEST(TlsAlpn, EndsTheHandshakeWhenNothingOverlaps) {
  const auto context = built({.certificates = {ecdsa_source({"shop.test"})}});
  TlsPair pair(*context, {.alpn_wire = "\x02h2"});
  EXPECT_EQ(pair.carry(), Status::failed);
  EXPECT_EQ(pair.server.cause(), base::Cause::client_tls_failed);
  EXPECT_EQ(pair.client.alert(), SSL_AD_NO_APPLICATION_PROTOCOL);
}

TEST(TlsAlpn, IsNotNeeded) {
  const auto context = built({.certificates = {ecdsa_source({"shop.test"})}});
  TlsPair pair(*context);
  EXPECT_EQ(pair.carry(), Status::open);
  EXPECT_EQ(pair.server.alpn(), "");
}

TEST(TlsBuild, AsksForACertificate) { EXPECT_THAT(refusal({}), HasSubstr("no certificate is configured")); }

TEST(TlsBuild, NamesAFileWithoutCertificates) {
  EXPECT_THAT(refusal({.certificates = {{"", TestKey::ecdsa().pem(), "empty.pem"}}}),
              HasSubstr("empty.pem holds no certificate"));
}

TEST(TlsBuild, NamesAFileThatCannotBeDecoded) {
  const TestKey key = TestKey::ecdsa();
  CertificateSource broken = source(key, {}, "broken.pem");
  broken.certificate_pem.replace(60, 8, "!!!!!!!!");
  EXPECT_THAT(refusal({.certificates = {broken}}), HasSubstr("a certificate in broken.pem cannot be decoded"));
}

TEST(TlsBuild, NamesAFileWhoseSecondCertificateCannotBeDecoded) {
  const TestKey key = TestKey::ecdsa();
  CertificateSource broken = source(key, {}, "broken.pem");
  broken.certificate_pem += self_signed_pem(key, {}).replace(60, 8, "!!!!!!!!");
  EXPECT_THAT(refusal({.certificates = {broken}}), HasSubstr("a certificate in broken.pem cannot be decoded"));
}

TEST(TlsBuild, NamesAKeyOfAnotherCertificate) {
  CertificateSource mixed = source(TestKey::ecdsa(), {}, "mixed.pem");
  mixed.key_pem = TestKey::ecdsa().pem();
  EXPECT_THAT(refusal({.certificates = {mixed}}), HasSubstr("for mixed.pem does not belong"));
}

TEST(TlsBuild, NamesAKeyThatCannotBeRead) {
  CertificateSource broken = source(TestKey::ecdsa(), {}, "broken.pem");
  broken.key_pem = "no key at all";
  EXPECT_THAT(refusal({.certificates = {broken}}), HasSubstr("the private key for broken.pem cannot be read"));
}

TEST(TlsBuild, RefusesAnEncryptedKeyWithARemedy) {
  const TestKey key = TestKey::ecdsa();
  CertificateSource locked = source(key, {}, "locked.pem");
  locked.key_pem = key.pem("secret");
  EXPECT_THAT(refusal({.certificates = {locked}}), HasSubstr("locked.pem is encrypted; store it without"));
}

std::string refusal_of_key(const std::string& pem, const TestKey& key) {
  CertificateSource given = source(key, {}, "shop.pem");
  given.key_pem = pem;
  given.key_origin = "shop.key";
  return refusal({.certificates = {given}});
}

TEST(TlsBuild, RefusesAKeyFileWithMoreThanTheOneKey) {
  const TestKey key = TestKey::ecdsa();
  const std::string other = TestKey::ecdsa().pem();
  for (const std::string& rest :
       {other, other.substr(0, other.size() / 2), other.substr(0, other.size() - 3), other.substr(0, 10),
        other.substr(other.size() / 2), other.substr(other.find('\n') + 1, 70), "\n  " + other, "\r" + other, key.pem(),
        TestKey::rsa().pem().substr(0, 500), other.substr(5)}) {
    EXPECT_THAT(refusal_of_key(key.pem() + rest, key),
                AllOf(HasSubstr("shop.key has "), HasSubstr("; leave only the one private key for shop.pem in it")))
        << rest;
  }
}

TEST(TlsBuild, RefusesAKeyFileWithHalfABlockBeforeTheKey) {
  const TestKey key = TestKey::ecdsa();
  const std::string other = TestKey::ecdsa().pem();
  EXPECT_THAT(refusal_of_key(other.substr(other.find('\n') + 1) + key.pem(), key), HasSubstr("shop.key has "));
}

TEST(TlsBuild, SaysInWhichLineAFileIsBroken) {
  const TestKey key = TestKey::ecdsa();
  const std::string half = key.pem().substr(0, 40);
  EXPECT_THAT(refusal_of_key("# one\r\n" + key.pem() + half + "\n" + key.pem(), key),
              HasSubstr("shop.key has a PRIVATE KEY block without its END line (line 9); "));
}

TEST(TlsBuild, TakesFilesWithAByteOrderMark) {
  const TestKey key = TestKey::ecdsa();
  CertificateSource given = source(key, {}, "shop.pem");
  given.certificate_pem = "\xEF\xBB\xBF" + given.certificate_pem;
  given.key_pem = "\xEF\xBB\xBF" + given.key_pem;
  built({.certificates = {given}});
}

TEST(TlsBuild, TakesAKeyBehindItsParametersAndAComment) {
  const TestKey key = TestKey::ecdsa();
  CertificateSource given = source(key, {}, "shop.pem");
  given.key_pem =
      "Bag Attributes\n    friendlyName: shop\n-----\n----------\n----- the shop's key -----\n"
      "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n"
      "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\r\n" +
      key.pem() + "\n# shop.test, since 2026 - renewed each year\n";
  built({.certificates = {given}});
}

TEST(TlsBuild, TakesOneFileWithCertificateAndKey) {
  const TestKey key = TestKey::ecdsa();
  CertificateSource given = source(key, {}, "shop.pem");
  given.certificate_pem += key.pem();
  given.key_pem = given.certificate_pem;
  built({.certificates = {given}});
}

TEST(TlsBuild, TakesACertificateBesideParametersAndItsRequest) {
  CertificateSource given = source(TestKey::ecdsa(), {}, "shop.pem");
  for (const char* kind :
       {"DH PARAMETERS", "X9.42 DH PARAMETERS", "CERTIFICATE REQUEST", "PUBLIC KEY", "RSA PUBLIC KEY"}) {
    given.certificate_pem +=
        std::string("-----BEGIN ") + kind + "-----\nBggqhkjOPQMBBw==\n-----END " + kind + "-----\n";
  }
  built({.certificates = {given}});
}

TEST(TlsBuild, RefusesACertificateFileWithHalfABlock) {
  const TestKey key = TestKey::ecdsa();
  CertificateSource given = source(key, {}, "shop.pem");
  const std::string own = given.certificate_pem;
  for (const std::string& rest : {own.substr(0, 20), own.substr(own.size() / 2)}) {
    given.certificate_pem = own + rest;
    EXPECT_THAT(refusal({.certificates = {given}}), HasSubstr("shop.pem has a block without its whole BEGIN line"));
  }
}

TEST(TlsBuild, RefusesAWeakKey) {
  EXPECT_THAT(refusal({.certificates = {source(TestKey::rsa(1024), {}, "weak.pem")}}),
              HasSubstr("weak.pem cannot be served (ee key too small)"));
}

TEST(TlsBuild, RefusesAnImpossibleAlpnName) {
  EXPECT_THAT(refusal({.certificates = {ecdsa_source({"a.test"})}, .alpn = {""}}), HasSubstr("ALPN"));
}

TEST(TlsBuild, AcceptsAnExpiredCertificateAndTellsWhenItExpired) {
  const auto now = built({.certificates = {source(TestKey::ecdsa(), {.valid_seconds = 0})}})->first_expiry();
  const auto context = built({.certificates = {source(TestKey::ecdsa(), {.valid_seconds = 86'400}),
                                               source(TestKey::ecdsa(), {.valid_seconds = -3600})}});
  EXPECT_NEAR(static_cast<double>(context->first_expiry()), static_cast<double>(now - 3600), 60.0);
}

}  // namespace
}  // namespace ebb::wire
