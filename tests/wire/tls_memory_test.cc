// What an idle TLS session costs. Sanitizers replace the allocator that is asked here, so the test runs without them.
#include <gtest/gtest.h>
#include <malloc.h>

#include "wire/tls_peer.h"

namespace ebb::wire {
namespace {

constexpr std::size_t sessions = 500;
constexpr double budget_bytes = 13.5 * 1024;

// A session after its handshake and one exchange, as an idle keep-alive connection holds it.
TlsSession idle_session(const ServerContext& context, int version) {
  TlsPair pair(context, {.server_name = "shop.example.test", .alpn_wire = "\x08http/1.1", .version = version});
  pair.carry();
  EXPECT_TRUE(pair.client.write("GET / HTTP/1.1\r\nHost: shop.example.test\r\n\r\n"));
  pair.carry();
  EXPECT_EQ(pair.answer("HTTP/1.1 204 No Content\r\n\r\n"), TlsSession::Status::open);
  return std::move(pair.server);
}

class TlsMemory : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Versions, TlsMemory, testing::Values(TLS1_2_VERSION, TLS1_3_VERSION),
                         [](const auto& info) { return info.param == TLS1_2_VERSION ? "Tls12" : "Tls13"; });

TEST_P(TlsMemory, OfAnIdleSessionStaysWithinItsBudget) {
  if (mallinfo2().uordblks == 0)
    GTEST_SKIP() << "the allocator does not tell what is in use (a sanitizer's never does)";
  const auto context =
      ServerContext::build({.certificates = {ecdsa_source({"default.test"}), ecdsa_source({"shop.example.test"})}},
                           std::make_shared<TicketKeys>());
  ASSERT_TRUE(context.has_value()) << context.error();
  std::vector<TlsSession> idle;
  idle.reserve(sessions);
  idle.push_back(idle_session(**context, GetParam()));  // what OpenSSL makes once is made now
  const std::size_t before = mallinfo2().uordblks;
  while (idle.size() < sessions) idle.push_back(idle_session(**context, GetParam()));
  const double each = static_cast<double>(mallinfo2().uordblks - before) / (sessions - 1);
  std::printf("%.0f bytes for each idle session\n", each);
  EXPECT_LT(each, budget_bytes);
}

}  // namespace
}  // namespace ebb::wire
