#include <gtest/gtest.h>
#include <openssl/err.h>

#include "base/rng.h"
#include "wire/tls_peer.h"

namespace ebb::wire {
namespace {

using Status = TlsSession::Status;

std::shared_ptr<const ServerContext> shop_context() {
  auto built = ServerContext::build({.certificates = {ecdsa_source({"shop.test"})}}, std::make_shared<TicketKeys>());
  EXPECT_TRUE(built.has_value()) << built.error();
  return *built;
}

std::string random_bytes(std::size_t count, std::uint64_t seed) {
  base::Rng rng(seed);
  std::string bytes(count, '\0');
  for (char& c : bytes) c = static_cast<char>(rng.next());
  return bytes;
}

class TlsOfEachVersion : public testing::TestWithParam<int> {
 protected:
  std::shared_ptr<const ServerContext> context_ = shop_context();
  TlsPair pair_{*context_, {.server_name = "Shop.TEST", .version = GetParam()}};

  void SetUp() override { ERR_clear_error(); }
  void TearDown() override { EXPECT_EQ(ERR_peek_error(), 0u); }
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

TEST_P(TlsOfEachVersion, CarriesLargeBodiesUnchanged) {
  pair_.carry();
  const std::string upload = random_bytes(700'001, 1);
  ASSERT_TRUE(pair_.client.write(upload));
  EXPECT_EQ(pair_.carry(9'999), Status::open);
  EXPECT_TRUE(pair_.plain_text() == upload);

  const std::string download = random_bytes(1'048'577, 2);
  EXPECT_EQ(pair_.answer(download), Status::open);
  pair_.carry();
  EXPECT_TRUE(pair_.client.received == download);
}

TEST_P(TlsOfEachVersion, CarriesChainsOfSlicesOfAnySize) {
  pair_.carry();
  base::Rng rng(3);
  std::string sent;
  for (int round = 0; round < 40; ++round) {
    base::Chain chain;
    for (std::uint64_t slices = rng.below(9); slices > 0; --slices) {
      const std::string bytes = random_bytes(rng.between(1, rng.chance(500) ? 300 : 40'000), rng.next());
      sent += bytes;
      chain.push(pair_.pool.copy(bytes));
    }
    ASSERT_EQ(pair_.server.send(pair_.pool, std::move(chain), pair_.cipher), Status::open);
    pair_.carry();
  }
  EXPECT_TRUE(pair_.client.received == sent);
}

TEST_P(TlsOfEachVersion, SendsASmallHeadAndBodyAsOneRecord) {
  pair_.carry();
  base::Chain chain;
  chain.push(pair_.pool.copy("HTTP/1.1 200 OK\r\n\r\n"));
  chain.push(pair_.pool.copy("small body"));
  ASSERT_EQ(pair_.server.send(pair_.pool, std::move(chain), pair_.cipher), Status::open);
  pair_.carry();
  EXPECT_EQ(pair_.client.record_sizes, std::vector<std::size_t>{29});
}

TEST_P(TlsOfEachVersion, CutsALargeSliceIntoFullRecords) {
  pair_.carry();
  base::Chain chain;
  chain.push(pair_.pool.copy(std::string(40'000, 'x')));
  ASSERT_EQ(pair_.server.send(pair_.pool, std::move(chain), pair_.cipher), Status::open);
  pair_.carry();
  EXPECT_EQ(pair_.client.record_sizes, (std::vector<std::size_t>{16'384, 16'384, 7'232}));
}

TEST_P(TlsOfEachVersion, FillsBlocksWithRecordsBackToBack) {
  pair_.carry();
  ASSERT_EQ(pair_.answer(std::string(1 << 20, 'x')), Status::open);
  const std::size_t least = pair_.cipher.bytes() / base::BlockPool::large_size;
  EXPECT_LE(pair_.cipher.slices(), least + 2);
}

TEST_P(TlsOfEachVersion, HoldsNoBlocksWhileIdle) {
  pair_.carry();
  ASSERT_TRUE(pair_.client.write(std::string(50'000, 'u')));
  pair_.carry();
  pair_.plain.clear();
  ASSERT_EQ(pair_.answer(std::string(50'000, 'd')), Status::open);
  pair_.carry();
  EXPECT_EQ(pair_.pool.bytes_in_use(), 0u);
}

TEST_P(TlsOfEachVersion, DecryptsASmallRequestIntoASmallBlock) {
  pair_.carry();
  ASSERT_TRUE(pair_.client.write("GET / HTTP/1.1\r\n\r\n"));
  pair_.carry();
  ASSERT_EQ(pair_.plain.slices(), 1u);
  EXPECT_EQ(pair_.plain[0].block()->capacity(), base::BlockPool::small_size);
}

TEST_P(TlsOfEachVersion, FinishesWhenTheClientClosesAndMayStillAnswer) {
  pair_.carry();
  ASSERT_TRUE(pair_.client.write("last words"));
  pair_.client.close_notify();
  EXPECT_EQ(pair_.feed(pair_.client.take_output()), Status::finished);
  EXPECT_EQ(pair_.plain_text(), "last words");
  EXPECT_EQ(pair_.answer("the answer"), Status::finished);
  EXPECT_GT(pair_.cipher.bytes(), 0u);
  EXPECT_EQ(pair_.feed("noise behind the end"), Status::finished);
}

TEST_P(TlsOfEachVersion, TellsTheClientThatItCloses) {
  pair_.carry();
  pair_.server.close_notify(pair_.pool, pair_.cipher);
  const std::size_t bytes = pair_.cipher.bytes();
  EXPECT_GT(bytes, 0u);
  pair_.server.close_notify(pair_.pool, pair_.cipher);
  EXPECT_EQ(pair_.cipher.bytes(), bytes) << "said twice";
  pair_.carry();
  EXPECT_TRUE(pair_.client.peer_closed());
}

TEST_P(TlsOfEachVersion, HasNothingToCloseBeforeTheHandshake) {
  pair_.server.close_notify(pair_.pool, pair_.cipher);
  EXPECT_TRUE(pair_.cipher.empty());
}

TEST_P(TlsOfEachVersion, FailsWithAnAlertWhenARecordWasAltered) {
  pair_.carry();
  ASSERT_TRUE(pair_.client.write("untouched"));
  std::string bytes = pair_.client.take_output();
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  EXPECT_EQ(pair_.feed(bytes), Status::failed);
  EXPECT_EQ(pair_.server.cause(), base::Cause::client_tls_failed);
  EXPECT_STRNE(pair_.server.why(), "");
  EXPECT_EQ(ERR_peek_error(), 0u) << "the next session on this thread would read it";
  EXPECT_EQ(pair_.plain_text(), "");
  pair_.client.give_input(text_of(pair_.cipher));
  pair_.client.pump();
  EXPECT_EQ(pair_.client.alert(), SSL_AD_BAD_RECORD_MAC);
  EXPECT_EQ(pair_.answer("more"), Status::failed);
  EXPECT_EQ(pair_.feed("more"), Status::failed);
}

TEST_P(TlsOfEachVersion, StaysOpenWhileARecordIsIncomplete) {
  pair_.carry();
  ASSERT_TRUE(pair_.client.write("cut short"));
  std::string bytes = pair_.client.take_output();
  bytes.pop_back();
  EXPECT_EQ(pair_.feed(bytes), Status::open);
  EXPECT_EQ(pair_.plain_text(), "");
}

TEST_P(TlsOfEachVersion, MovesInTheMiddleOfItsHandshake) {
  pair_.client.pump();
  pair_.feed(pair_.client.take_output());
  TlsSession moved = std::move(pair_.server);
  pair_.server = std::move(moved);
  EXPECT_EQ(pair_.carry(), Status::open);
  EXPECT_TRUE(pair_.server.handshake_done());
}

TEST(Tls, GivesNoAlertToAPeerThatDoesNotSpeakTls) {
  const auto context = shop_context();
  TlsPair pair(*context);
  EXPECT_EQ(pair.feed("GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n"), Status::failed);
  EXPECT_EQ(pair.server.cause(), base::Cause::client_tls_failed);
  EXPECT_STREQ(pair.server.why(), "http request");
  EXPECT_TRUE(pair.cipher.empty());
}

TEST(Tls, RefusesVersionsBeforeTls12) {
  const auto context = shop_context();
  TlsPair pair(*context, {.version = TLS1_1_VERSION, .tls12_suites = "ALL:@SECLEVEL=0"});
  EXPECT_EQ(pair.carry(), Status::failed);
  EXPECT_EQ(pair.client.alert(), SSL_AD_PROTOCOL_VERSION);
}

TEST(Tls, FailsWithAnAlertWhenTheClientHelloIsDamaged) {
  constexpr std::size_t record_header = 5;  // damage to it makes the bytes something other than TLS
  const auto context = shop_context();
  base::Rng rng(4);
  for (int round = 0; round < 300; ++round) {
    TlsPair pair(*context, {.server_name = "shop.test"});
    pair.client.pump();
    std::string hello = pair.client.take_output();
    for (std::uint64_t flips = rng.between(1, 8); flips > 0; --flips) {
      hello[rng.between(record_header, hello.size() - 1)] = static_cast<char>(rng.next());
    }
    const Status status = pair.feed(hello);
    if (status == Status::failed) {
      EXPECT_NE(pair.server.cause(), base::Cause::completed);
      EXPECT_FALSE(pair.cipher.empty()) << "no alert: " << pair.server.why();
    }
    ASSERT_EQ(ERR_peek_error(), 0u);
  }
}

// In TLS 1.2 the client waits for our Finished before it may write.
TEST(Tls, GivesPlaintextThatCameWithTheLastBytesOfTheHandshake) {
  const auto context = shop_context();
  TlsPair pair(*context, {.version = TLS1_3_VERSION});
  pair.client.pump();
  ASSERT_EQ(pair.feed(pair.client.take_output()), Status::open);
  pair.client.give_input(text_of(pair.cipher));
  pair.cipher.clear();
  pair.client.pump();
  ASSERT_TRUE(pair.client.write("early bird"));
  ASSERT_EQ(pair.feed(pair.client.take_output()), Status::open);
  EXPECT_EQ(pair.plain_text(), "early bird");
}

TEST_P(TlsOfEachVersion, HoldsSmallAnswersInFewBlocks) {
  constexpr std::size_t answers = 4000;
  const std::string event = "data: " + std::string(43, 'x') + "\n";
  std::string all;
  for (std::size_t i = 0; i < answers; ++i) {
    ASSERT_EQ(pair_.answer(event), Status::open);  // before the handshake: nothing can leave yet
    all += event;
  }
  EXPECT_EQ(pair_.server.held(), all.size());
  EXPECT_LT(pair_.pool.bytes_in_use(), 2 * all.size());
  EXPECT_GE(pair_.server.held_memory(), pair_.pool.bytes_in_use());
  EXPECT_EQ(pair_.carry(), Status::open);
  EXPECT_EQ(pair_.client.received, all);
  EXPECT_EQ(pair_.server.held_memory(), 0u);
}

TEST(Tls, AnswersAKeyUpdate) {
  const auto context = shop_context();
  TlsPair pair(*context, {.version = TLS1_3_VERSION});
  pair.carry();
  ASSERT_EQ(SSL_key_update(pair.client.ssl(), SSL_KEY_UPDATE_REQUESTED), 1);
  ASSERT_TRUE(pair.client.write("under new keys"));
  EXPECT_EQ(pair.carry(), Status::open);
  EXPECT_EQ(pair.plain_text(), "under new keys");
  EXPECT_EQ(pair.answer("under ours"), Status::open);
  pair.carry();
  EXPECT_EQ(pair.client.received, "under ours");
}

TEST(Tls, RefusesRenegotiation) {
  const auto context = shop_context();
  TlsPair pair(*context, {.version = TLS1_2_VERSION});
  pair.carry();
  ASSERT_EQ(SSL_renegotiate(pair.client.ssl()), 1);
  SSL_do_handshake(pair.client.ssl());
  const std::string hello = pair.client.take_output();
  ASSERT_FALSE(hello.empty());
  EXPECT_EQ(pair.feed(hello), Status::open);
  EXPECT_LT(pair.cipher.bytes(), 64u) << "more than a warning came back";
}

TEST(Tls, SessionsOfOneThreadDoNotDisturbEachOther) {
  const auto context = shop_context();
  TlsPair failing(*context);
  TlsPair working(*context);
  working.client.pump();
  working.feed(working.client.take_output());
  EXPECT_EQ(failing.feed("garbage that is no record"), Status::failed);
  EXPECT_EQ(working.carry(), Status::open);
  EXPECT_TRUE(working.server.handshake_done());
}

}  // namespace
}  // namespace ebb::wire
