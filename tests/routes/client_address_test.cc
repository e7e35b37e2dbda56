#include "routes/client_address.h"

#include <gtest/gtest.h>

#include "tests/routes/model_builder.h"

namespace ebb::routes {
namespace {

std::string client(const char* peer, std::initializer_list<const char*> lines) {
  const Cidr ranges[] = {*Cidr::parse("10.0.0.0/8"), *Cidr::parse("fd00::/8")};
  std::vector<std::pair<std::string, std::string>> fields;
  for (const char* line : lines) fields.emplace_back("x-forwarded-for", line);
  return client_address(*parse_ip(peer), ListedHeaders(fields), AddressSet(ranges)).host_text();
}

TEST(ClientAddress, IsThePeerUnlessThatIsTrusted) {
  EXPECT_EQ(client("192.0.2.1", {"198.51.100.7"}), "192.0.2.1");
  EXPECT_EQ(client("10.0.0.1", {}), "10.0.0.1");
  EXPECT_EQ(client("10.0.0.1", {"198.51.100.7"}), "198.51.100.7");
}

TEST(ClientAddress, IsTheLastThatNoTrustedProxyHas) {
  EXPECT_EQ(client("10.0.0.1", {"1.1.1.1, 198.51.100.7, 10.0.0.2"}), "198.51.100.7");
  EXPECT_EQ(client("10.0.0.1", {"1.1.1.1", "198.51.100.7", "10.0.0.3 , 10.0.0.2"}), "198.51.100.7");
  EXPECT_EQ(client("10.0.0.1", {"10.0.0.3, 10.0.0.2"}), "10.0.0.3");
}

TEST(ClientAddress, KnowsPortsAndIpv6) {
  EXPECT_EQ(client("fd00::1", {"198.51.100.7:4711"}), "198.51.100.7");
  EXPECT_EQ(client("fd00::1", {"[2001:db8::7]:4711, fd00::2"}), "2001:db8::7");
  EXPECT_EQ(client("fd00::1", {"2001:db8::7"}), "2001:db8::7");
}

TEST(ClientAddress, StopsAtWhatIsNotAnAddress) {
  EXPECT_EQ(client("10.0.0.1", {"198.51.100.7, unknown, 10.0.0.2"}), "10.0.0.2");
  EXPECT_EQ(client("10.0.0.1", {"198.51.100.7,"}), "10.0.0.1");
  EXPECT_EQ(client("10.0.0.1", {""}), "10.0.0.1");
}

TEST(ClientAddress, FollowsABoundedNumberOfHops) {
  std::string chain = "198.51.100.7";
  for (int i = 0; i < 100; ++i) chain += ", 10.0.0.2";
  EXPECT_EQ(client("10.0.0.1", {chain.c_str()}), "10.0.0.2");
}

}  // namespace
}  // namespace ebb::routes
