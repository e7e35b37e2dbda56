// OCSP responses stapled to certificates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/tls_authority.h"

namespace ebb::wire {
namespace {

using testing::HasSubstr;
using Status = TlsSession::Status;

class Stapling : public testing::TestWithParam<int> {
 protected:
  CertificateSource stapled(const IssueFacts& facts, long valid_seconds = 3600) const {
    CertificateSource source = root_.issue(facts);
    source.ocsp_der = root_.ocsp_der(facts.serial, valid_seconds);
    return source;
  }
  std::shared_ptr<const ServerContext> built(std::vector<CertificateSource> certificates) const {
    auto context = ServerContext::build({.certificates = std::move(certificates)}, std::make_shared<TicketKeys>());
    EXPECT_TRUE(context.has_value()) << context.error();
    return context ? *context : nullptr;
  }
  std::string staple_for(const ServerContext& context, const std::string& name, bool ask = true) const {
    TlsPair pair(context, {.server_name = name, .version = GetParam(), .ask_status = ask});
    EXPECT_EQ(pair.carry(), Status::open) << pair.server.why();
    EXPECT_TRUE(pair.client.connected());
    return pair.client.staple();
  }

  const TestAuthority root_;
};
INSTANTIATE_TEST_SUITE_P(Versions, Stapling, testing::Values(TLS1_2_VERSION, TLS1_3_VERSION),
                         [](const auto& info) { return info.param == TLS1_2_VERSION ? "Tls12" : "Tls13"; });

TEST_P(Stapling, GivesTheResponseOfTheChosenCertificateToWhoAsks) {
  const CertificateSource shop = stapled({.names = {"shop.test"}, .serial = 11});
  const CertificateSource cart = stapled({.names = {"cart.test"}, .serial = 12});
  const auto context = built({shop, cart, root_.issue({.names = {"bare.test"}})});
  EXPECT_EQ(staple_for(*context, "shop.test"), shop.ocsp_der);
  EXPECT_EQ(staple_for(*context, "cart.test"), cart.ocsp_der);
  EXPECT_EQ(staple_for(*context, "unknown.test"), shop.ocsp_der);
  EXPECT_EQ(staple_for(*context, "bare.test"), "");
  EXPECT_EQ(staple_for(*context, "shop.test", false), "");
}

TEST_P(Stapling, EndsWithTheResponse) {
  const auto context = built({stapled({.names = {"shop.test"}}, -60)});
  EXPECT_EQ(staple_for(*context, "shop.test"), "");
}

TEST_P(Stapling, GoesOnWithoutWhereNoneIsConfigured) {
  const auto context = built({root_.issue({.names = {"shop.test"}})});
  EXPECT_EQ(staple_for(*context, "shop.test"), "");
  EXPECT_EQ(context->first_staple_expiry(), INT64_MAX);
}

TEST(StaplingBuild, TellsWhenTheFirstResponseEnds) {
  const TestAuthority root;
  const auto expiry_of = [&](std::vector<long> seconds) {
    ServerOptions options;
    for (const long valid : seconds) {
      options.certificates.push_back(root.issue({.names = {"a.test"}}));
      options.certificates.back().ocsp_der = root.ocsp_der(1000, valid);
    }
    return (*ServerContext::build(options, std::make_shared<TicketKeys>()))->first_staple_expiry();
  };
  EXPECT_NEAR(static_cast<double>(expiry_of({86'400, 3600})), static_cast<double>(expiry_of({0}) + 3600), 60.0);
}

TEST(StaplingBuild, RefusesWhatIsNoResponseForTheCertificate) {
  const TestAuthority root;
  const auto refusal = [&](const std::string& der) {
    CertificateSource source = root.issue({.names = {"a.test"}, .serial = 7}, "a.pem");
    source.ocsp_der = der;
    auto context = ServerContext::build({.certificates = {source}}, std::make_shared<TicketKeys>());
    EXPECT_FALSE(context.has_value());
    return context ? "" : context.error();
  };
  const std::string good = root.ocsp_der(7);
  EXPECT_THAT(refusal(""), HasSubstr("the OCSP response for a.pem cannot be read"));
  EXPECT_THAT(refusal("no response"), HasSubstr("the OCSP response for a.pem cannot be read"));
  EXPECT_THAT(refusal(good.substr(0, good.size() - 1)), HasSubstr("cannot be read"));
  EXPECT_THAT(refusal(good + "x"), HasSubstr("cannot be read"));
  EXPECT_THAT(refusal(std::string("\x30\x03\x0a\x01\x03", 5)), HasSubstr("cannot be read"));  // "try later"
  EXPECT_THAT(refusal(root.ocsp_der(8)), HasSubstr("for a.pem is about another certificate"));
}

}  // namespace
}  // namespace ebb::wire
