#include "base/address.h"

#include <gtest/gtest.h>

#include <cstring>
#include <new>

namespace ebb::base {
namespace {

TEST(Address, PrintsWhatItParsed) {
  for (const char* text : {"127.0.0.1:80", "0.0.0.0:0", "255.255.255.255:65535", "[::1]:8080", "[::]:443",
                           "[2001:db8::ff00:42:8329]:1", "[::ffff:10.0.0.1]:9"}) {
    const auto address = Address::parse(text);
    ASSERT_TRUE(address.has_value()) << text;
    EXPECT_TRUE(address->valid());
    EXPECT_EQ(address->text(), text);
    EXPECT_EQ(Address::from(address->raw()), *address);
    EXPECT_EQ(Address::from(address->raw()).hash(), address->hash());
  }
}

TEST(Address, RefusesWhatIsNoNumericAddressWithPort) {
  for (const char* text :
       {"", ":", ":80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:80x", "127.0.0.1: 80",
        "127.0.0:80", "::1:80", "[::1]", "[]:80", "[::1:80", "[127.0.0.1]:80", "localhost:80", "127.0.0.1:80:80"}) {
    EXPECT_FALSE(Address::parse(text).has_value()) << text;
  }
}

TEST(Address, HasPartsAsText) {
  const auto six = Address::parse("[fe80::1]:8080");
  EXPECT_EQ(six->host_text(), "fe80::1");
  EXPECT_EQ(six->port(), 8080);
  EXPECT_EQ(six->raw_size(), sizeof(sockaddr_in6));
  auto four = *Address::parse("10.1.2.3:1");
  four.set_port(443);
  EXPECT_EQ(four.text(), "10.1.2.3:443");
  EXPECT_EQ(four.raw_size(), sizeof(sockaddr_in));
}

TEST(Address, IsNoneByDefault) {
  const Address none;
  EXPECT_FALSE(none.valid());
  EXPECT_EQ(none.text(), "none");
  EXPECT_EQ(none.host_text(), "");
  EXPECT_EQ(none, Address());
}

TEST(Address, DiffersByEachOfItsParts) {
  EXPECT_NE(*Address::parse("10.0.0.1:80"), *Address::parse("10.0.0.1:81"));
  EXPECT_NE(*Address::parse("10.0.0.1:80"), *Address::parse("10.0.0.2:80"));
  EXPECT_NE(*Address::parse("0.0.0.0:80"), *Address::parse("[::]:80"));
  EXPECT_NE(*Address::parse("[::1]:80"), *Address::parse("[::2]:80"));
}

TEST(Address, KnowsLoopback) {
  EXPECT_TRUE(Address::parse("127.8.9.10:1")->is_loopback());
  EXPECT_TRUE(Address::parse("[::1]:1")->is_loopback());
  EXPECT_FALSE(Address::parse("128.0.0.1:1")->is_loopback());
  EXPECT_FALSE(Address::parse("[::2]:1")->is_loopback());
  EXPECT_FALSE(Address().is_loopback());
}

// A scope id left over from the stack would make connect() to the address fail, and equal addresses differ.
TEST(Address, IsZeroInAllBytesThatWereNotParsed) {
  alignas(Address) unsigned char memory[sizeof(Address)];
  std::memset(memory, 0xff, sizeof(memory));
  const auto* address = ::new (memory) Address();
  sockaddr_in6 raw;
  std::memcpy(&raw, address->raw(), sizeof(raw));
  EXPECT_EQ(raw.sin6_scope_id, 0u);
}

}  // namespace
}  // namespace ebb::base
