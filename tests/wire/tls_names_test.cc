// Which hosts a connection serves: the question behind 421.
#include <gtest/gtest.h>

#include "wire/tls_authority.h"

namespace ebb::wire {
namespace {

using Status = TlsSession::Status;

class Serves : public testing::Test {
 protected:
  std::unique_ptr<TlsPair> connected(std::vector<CertificateSource> certificates, PeerOptions client) {
    auto built = ServerContext::build({.certificates = std::move(certificates)}, keys_);
    EXPECT_TRUE(built.has_value()) << built.error();
    contexts_.push_back(*built);
    auto pair = std::make_unique<TlsPair>(*contexts_.back(), client);
    EXPECT_EQ(pair->carry(), Status::open);
    return pair;
  }

  const TestAuthority root_;
  const std::shared_ptr<TicketKeys> keys_ = std::make_shared<TicketKeys>();
  std::vector<std::shared_ptr<const ServerContext>> contexts_;
};

TEST_F(Serves, TheNamesOfItsCertificateAndNoOthers) {
  const auto pair = connected({root_.issue({.names = {"shop.test", "*.shop.test", "cart.test"}}),
                               root_.issue({.names = {"other.test", "deep.a.shop.test"}})},
                              {.server_name = "shop.test"});
  for (const char* host : {"shop.test", "cart.test", "www.shop.test", "a.shop.test"}) {
    EXPECT_TRUE(pair->server.serves(host)) << host;
  }
  for (const char* host : {"", ".", "other.test", "deep.a.shop.test", "a.b.shop.test", ".shop.test", "*.shop.test.x",
                           "test", "shop.test.", "xshop.test", "10.0.0.1", "[::1]", "[", "[]", "1"}) {
    EXPECT_FALSE(pair->server.serves(host)) << host;
  }
}

TEST_F(Serves, AddressesByAddressEntries) {
  const auto pair = connected({root_.issue({.names = {"shop.test"}, .addresses = {"10.0.0.1", "fd00::1"}})}, {});
  for (const char* host : {"10.0.0.1", "[fd00::1]", "fd00::1", "[fd00:0::1]", "shop.test"}) {
    EXPECT_TRUE(pair->server.serves(host)) << host;
  }
  for (const char* host : {"10.0.0.2", "[fd00::2]", "10.0.0.1.2", "10.0.0.01", "[10.0.0.1"}) {
    EXPECT_FALSE(pair->server.serves(host)) << host;
  }
  const auto named = connected({root_.issue({.names = {"10.0.0.1", "*.0.0.1"}})}, {});
  EXPECT_FALSE(named->server.serves("10.0.0.1"));
}

TEST_F(Serves, TheNameThatTheClientAskedFor) {
  const auto pair = connected({root_.issue({.names = {"shop.test"}})}, {.server_name = "unknown.test"});
  EXPECT_TRUE(pair->server.serves("unknown.test"));
  EXPECT_TRUE(pair->server.serves("shop.test"));
  EXPECT_FALSE(pair->server.serves("other.test"));
}

TEST_F(Serves, NothingBeforeTheHandshake) {
  auto built = ServerContext::build({.certificates = {root_.issue({.names = {"shop.test"}})}}, keys_);
  TlsSession session(**built);
  EXPECT_FALSE(session.serves("shop.test"));
  EXPECT_FALSE(session.serves(""));
}

TEST_F(Serves, OfTwoCertificatesSideBySideOnlyWhatBothCover) {
  const std::vector<CertificateSource> two = {root_.issue({.names = {"shop.test", "ec.test"}}),
                                              source(TestKey::rsa(), {.names = {"shop.test", "rsa.test"}})};
  const auto pair = connected(two, {.server_name = "shop.test"});
  EXPECT_TRUE(pair->server.serves("shop.test"));
  EXPECT_FALSE(pair->server.serves("ec.test"));
  EXPECT_FALSE(pair->server.serves("rsa.test"));
}

TEST_F(Serves, TheSameWhenResumed) {
  const std::vector<CertificateSource> certificates = {root_.issue({.names = {"shop.test", "*.shop.test"}})};
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const auto first = connected(certificates, {.server_name = "shop.test", .version = version});
    first->server.close_notify(first->pool, first->cipher);
    first->carry();
    first->client.close_notify();
    const auto second =
        connected(certificates, {.server_name = "shop.test", .version = version, .resume = first->client.session()});
    ASSERT_TRUE(second->server.resumed());
    EXPECT_TRUE(second->server.serves("www.shop.test"));
    EXPECT_FALSE(second->server.serves("other.test"));
  }
}

}  // namespace
}  // namespace ebb::wire
