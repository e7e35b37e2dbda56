#include <gtest/gtest.h>

#include "wire/tls_peer.h"

namespace ebb::wire {
namespace {

using Status = TlsSession::Status;

std::shared_ptr<const ServerContext> context_for(std::vector<CertificateSource> certificates) {
  auto built = ServerContext::build({.certificates = std::move(certificates)}, std::make_shared<TicketKeys>());
  EXPECT_TRUE(built.has_value()) << built.error();
  return *built;
}

class TlsOfEachVersion : public testing::TestWithParam<int> {
 protected:
  std::shared_ptr<const ServerContext> context_ = context_for({ecdsa_source({"shop.test"})});
  TlsPair pair_{*context_, {.server_name = "Shop.TEST", .version = GetParam()}};
};
INSTANTIATE_TEST_SUITE_P(Versions, TlsOfEachVersion, testing::Values(TLS1_2_VERSION, TLS1_3_VERSION),
                         [](const auto& info) { return info.param == TLS1_2_VERSION ? "Tls12" : "Tls13"; });

TEST_P(TlsOfEachVersion, CompletesTheHandshakeAndCarriesBothWays) {
  EXPECT_FALSE(pair_.server.handshake_done());
  EXPECT_EQ(pair_.carry(), Status::open);
  ASSERT_TRUE(pair_.server.handshake_done());
  EXPECT_TRUE(pair_.client.connected());
  EXPECT_FALSE(pair_.server.resumed());
  EXPECT_EQ(pair_.server.protocol(), GetParam() == TLS1_2_VERSION ? "TLSv1.2" : "TLSv1.3");
  EXPECT_EQ(pair_.server.server_name(), "shop.test");
  EXPECT_EQ(pair_.server.alpn(), "");

  ASSERT_TRUE(pair_.client.write("GET / HTTP/1.1\r\n\r\n"));
  EXPECT_EQ(pair_.carry(), Status::open);
  EXPECT_EQ(pair_.plain_text(), "GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(pair_.answer("HTTP/1.1 204 No Content\r\n\r\n"), Status::open);
  pair_.carry();
  EXPECT_EQ(pair_.client.received, "HTTP/1.1 204 No Content\r\n\r\n");
}

TEST_P(TlsOfEachVersion, TakesBytesInPiecesOfEverySize) {
  for (std::size_t piece = 1; piece < 40; ++piece) {
    TlsPair pair(*context_, {.version = GetParam()});
    ASSERT_EQ(pair.carry(piece), Status::open) << piece;
    ASSERT_TRUE(pair.server.handshake_done()) << piece;
    ASSERT_TRUE(pair.client.write("a request"));
    ASSERT_EQ(pair.carry(piece), Status::open) << piece;
    ASSERT_EQ(pair.plain_text(), "a request") << piece;
  }
}
}  // namespace
}  // namespace ebb::wire
