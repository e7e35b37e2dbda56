#include "routes/client_address.h"

#include <gtest/gtest.h>

#include "tests/routes/model_builder.h"

namespace ebb::routes {
namespace {

std::string client(const char* peer, std::initializer_list<const char*> lines) {
  const Cidr ranges[] = {*Cidr::parse("10.0.0.0/8"), *Cidr::parse("fd00::/8")};
  std::vector<std::pair<std::string, std::string>> fields;
  for (const char* line : lines) fields.emplace_back("x-forwarded-for", line);
  const auto [address, hops] = client_address(*parse_ip(peer), ListedHeaders(fields), AddressSet(ranges));
  if (hops == ClientAddress::Hops::too_many) return "too many hops";
  return (hops == ClientAddress::Hops::hidden ? "hidden by " : "") + address.host_text();
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

// The proxy that wrote it knows somebody else, so that it must not be taken for the client itself.
TEST(ClientAddress, IsHiddenByWhatIsNotAnAddress) {
  EXPECT_EQ(client("10.0.0.1", {"198.51.100.7, unknown, 10.0.0.2"}), "hidden by 10.0.0.2");
  EXPECT_EQ(client("10.0.0.1", {"198.51.100.7,"}), "hidden by 10.0.0.1");
  EXPECT_EQ(client("10.0.0.1", {""}), "hidden by 10.0.0.1");
  EXPECT_EQ(client("10.0.0.1", {"_secret"}), "hidden by 10.0.0.1");
  EXPECT_EQ(client("10.0.0.1", {"unknown, 198.51.100.7"}), "198.51.100.7");
}

std::string repeated(int times, const std::string& text) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

// A client that puts a hundred lines before the proxy's own must not hide it.
TEST(ClientAddress, IsReadFromTheEndHoweverMuchStandsBefore) {
  std::vector<std::pair<std::string, std::string>> fields(100, {"x-forwarded-for", "10.0.0.9"});
  fields.emplace_back("x-forwarded-for", "198.51.100.7");
  const Cidr trusted[] = {*Cidr::parse("10.0.0.0/8")};
  EXPECT_EQ(client_address(*parse_ip("10.0.0.1"), ListedHeaders(fields), AddressSet(trusted)).address.host_text(),
            "198.51.100.7");
  EXPECT_EQ(client("10.0.0.1", {(repeated(100, "10.0.0.9, ") + "198.51.100.7").c_str()}), "198.51.100.7");
}

TEST(ClientAddress, IsNotKnownBehindMoreTrustedProxiesThanMayBe) {
  EXPECT_EQ(client("10.0.0.1", {("198.51.100.7" + repeated(31, ", 10.0.0.2")).c_str()}), "198.51.100.7");
  EXPECT_EQ(client("10.0.0.1", {("198.51.100.7" + repeated(32, ", 10.0.0.2")).c_str()}), "198.51.100.7");
  EXPECT_EQ(client("10.0.0.1", {("198.51.100.7" + repeated(33, ", 10.0.0.2")).c_str()}), "too many hops");
}

}  // namespace
}  // namespace ebb::routes
