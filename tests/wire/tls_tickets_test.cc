#include <gtest/gtest.h>
#include <openssl/err.h>

#include "wire/tls_peer.h"

namespace ebb::wire {
namespace {

using Status = TlsSession::Status;

TEST(TicketKeys, FindTheNewestAndTheFormerOnes) {
  TicketKeys keys;
  const TicketKeys::Key first = keys.newest();
  keys.rotate();
  TicketKeys::Key found;
  bool is_newest = true;
  ASSERT_TRUE(keys.find(first.name.data(), found, is_newest));
  EXPECT_FALSE(is_newest);
  EXPECT_EQ(found.aes, first.aes);
  ASSERT_TRUE(keys.find(keys.newest().name.data(), found, is_newest));
  EXPECT_TRUE(is_newest);
  EXPECT_NE(found.aes, first.aes);
}

TEST(TicketKeys, ForgetTheOldest) {
  TicketKeys keys;
  const TicketKeys::Key first = keys.newest();
  TicketKeys::Key found;
  bool is_newest = false;
  for (std::size_t i = 1; i < TicketKeys::key_count; ++i) keys.rotate();
  EXPECT_TRUE(keys.find(first.name.data(), found, is_newest));
  keys.rotate();
  EXPECT_FALSE(keys.find(first.name.data(), found, is_newest));
}

std::string ticket_bytes(const SSL_SESSION* session) {
  const unsigned char* bytes = nullptr;
  std::size_t size = 0;
  if (session != nullptr) SSL_SESSION_get0_ticket(session, &bytes, &size);
  return std::string(reinterpret_cast<const char*>(bytes), size);
}

class Resumption : public testing::TestWithParam<int> {
 protected:
  std::shared_ptr<const ServerContext> context(std::vector<CertificateSource> certificates) {
    auto built = ServerContext::build({.certificates = std::move(certificates)}, keys_);
    EXPECT_TRUE(built.has_value()) << built.error();
    return *built;
  }
  // Connects; whether the session was resumed. Keeps the newest ticket.
  bool connect(const ServerContext& server, const std::string& name) {
    TlsPair pair(server, {.server_name = name, .version = GetParam(), .resume = ticket_.get()});
    EXPECT_EQ(pair.carry(), Status::open);
    EXPECT_TRUE(pair.server.handshake_done());
    EXPECT_EQ(pair.client.resumed(), pair.server.resumed());
    EXPECT_EQ(pair.server.server_name(), name);
    leaf_ = pair.client.leaf_name();
    SSL_SESSION* session = pair.client.session();
    got_ticket_ = session != nullptr && ticket_bytes(session) != ticket_bytes(ticket_.get());
    if (got_ticket_) {
      SSL_SESSION_up_ref(session);
      ticket_.reset(session);
    }
    const bool resumed = pair.server.resumed();
    pair.server.close_notify(pair.pool, pair.cipher);
    pair.carry();  // a session whose connection broke may not be resumed: the client sees an orderly end
    pair.client.close_notify();
    return resumed;
  }

  std::shared_ptr<TicketKeys> keys_ = std::make_shared<TicketKeys>();
  std::unique_ptr<SSL_SESSION, Free<SSL_SESSION_free>> ticket_;
  std::string leaf_;
  bool got_ticket_ = false;
};
INSTANTIATE_TEST_SUITE_P(Versions, Resumption, testing::Values(TLS1_2_VERSION, TLS1_3_VERSION),
                         [](const auto& info) { return info.param == TLS1_2_VERSION ? "Tls12" : "Tls13"; });

TEST_P(Resumption, WorksOnTheSameContext) {
  const auto server = context({ecdsa_source({"shop.test"})});
  EXPECT_FALSE(connect(*server, "shop.test"));
  ASSERT_TRUE(got_ticket_);
  EXPECT_TRUE(connect(*server, "shop.test"));
  EXPECT_EQ(got_ticket_, GetParam() == TLS1_3_VERSION) << "a new one with each resumption in TLS 1.3 only";
}

TEST_P(Resumption, WorksAfterTheCertificateWasReplaced) {
  const auto before = context({ecdsa_source({"default.test"}), ecdsa_source({"shop.test"})});
  const auto after = context({ecdsa_source({"shop.test", "more.test"})});
  EXPECT_FALSE(connect(*before, "shop.test"));
  EXPECT_TRUE(connect(*after, "shop.test"));
}

TEST_P(Resumption, WorksForNamesThatOneWildcardServes) {
  const auto server = context({ecdsa_source({"*.example.test"})});
  EXPECT_FALSE(connect(*server, "a.example.test"));
  EXPECT_TRUE(connect(*server, "a.example.test"));
}

TEST_P(Resumption, DoesNotCrossToANameThatAnotherCertificateServes) {
  const auto server = context({ecdsa_source({"shop.test"}), ecdsa_source({"bank.test"})});
  EXPECT_FALSE(connect(*server, "shop.test"));
  ASSERT_TRUE(got_ticket_);
  EXPECT_FALSE(connect(*server, "bank.test"));
  EXPECT_EQ(leaf_, "bank.test");
}

TEST_P(Resumption, WorksAfterOneRotationAndRenewsTheTicket) {
  const auto server = context({ecdsa_source({"shop.test"})});
  EXPECT_FALSE(connect(*server, "shop.test"));
  keys_->rotate();
  EXPECT_TRUE(connect(*server, "shop.test"));
  EXPECT_TRUE(got_ticket_);
  for (std::size_t i = 1; i < TicketKeys::key_count; ++i) keys_->rotate();
  EXPECT_TRUE(connect(*server, "shop.test")) << "the renewed ticket is sealed with a key that is still known";
}

TEST_P(Resumption, EndsWhenItsKeyIsForgotten) {
  const auto server = context({ecdsa_source({"shop.test"})});
  EXPECT_FALSE(connect(*server, "shop.test"));
  for (std::size_t i = 0; i < TicketKeys::key_count; ++i) keys_->rotate();
  EXPECT_FALSE(connect(*server, "shop.test"));
  EXPECT_EQ(ERR_peek_error(), 0u);
}

TEST_P(Resumption, DoesNotHappenWithTheKeysOfAnotherRouter) {
  const auto one = context({ecdsa_source({"shop.test"})});
  keys_ = std::make_shared<TicketKeys>();
  const auto other = context({ecdsa_source({"shop.test"})});
  EXPECT_FALSE(connect(*one, "shop.test"));
  EXPECT_FALSE(connect(*other, "shop.test"));
}

}  // namespace
}  // namespace ebb::wire
