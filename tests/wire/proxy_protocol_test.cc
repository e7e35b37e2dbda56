#include "wire/proxy_protocol.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "base/rng.h"

namespace ebb::wire {
namespace {

using namespace std::string_literals;
using base::Address;
using Status = Parsed::Status;

const std::string signature = "\r\n\r\n\0\r\nQUIT\n"s;

std::string number(std::size_t value, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) text.push_back(static_cast<char>(value >> shift));
  return text;
}

std::string v2(unsigned command, unsigned family, const std::string& block) {
  return signature + number(command, 1) + number(family, 1) + number(block.size(), 2) + block;
}

std::string tlv(unsigned type, const std::string& value) { return number(type, 1) + number(value.size(), 2) + value; }

const std::string block4 = "\xc0\x00\x02\x01\xc6\x33\x64\x02\xdc\x04\x01\xbb"s;  // 192.0.2.1:56324 198.51.100.2:443
const std::string block6 =
    "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x02\x00\x50\x01\xbb"s;

struct Read {
  Parsed parsed;
  ProxyHeader header;
};

Read read(const std::string& bytes) {
  Read result;
  result.parsed = parse_proxy_header(bytes, result.header);
  return result;
}

void expect_complete(const std::string& bytes, const std::string& source, const std::string& destination) {
  const Read result = read(bytes);
  EXPECT_EQ(result.parsed.status, Status::complete) << result.parsed.why;
  EXPECT_EQ(result.parsed.consumed, bytes.size());
  EXPECT_EQ(result.header.source.text(), source);
  EXPECT_EQ(result.header.destination.text(), destination);
  EXPECT_EQ(result.header.has_addresses(), source != "none");
}

std::string refusal(const std::string& bytes) {
  const Read result = read(bytes);
  EXPECT_EQ(result.parsed.status, Status::refused) << bytes;
  EXPECT_EQ(result.parsed.cause, base::Cause::client_bad_proxy_header);
  EXPECT_FALSE(result.header.has_addresses());
  return result.parsed.why;
}

void expect_prefix_consistency(const std::string& bytes) {
  const Read whole = read(bytes);
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const Read part = read(bytes.substr(0, size));
    if (part.parsed.status == Status::incomplete) continue;
    ASSERT_EQ(part.parsed.status, whole.parsed.status) << size << ": " << part.parsed.why << " / " << whole.parsed.why;
    ASSERT_STREQ(part.parsed.why, whole.parsed.why) << size;
    ASSERT_EQ(part.parsed.consumed, whole.parsed.consumed);
    ASSERT_EQ(part.header.source, whole.header.source);
    ASSERT_EQ(part.header.destination, whole.header.destination);
  }
}

TEST(ProxyProtocolV1, IsRead) {
  expect_complete("PROXY TCP4 192.0.2.1 198.51.100.2 56324 443\r\n", "192.0.2.1:56324", "198.51.100.2:443");
  expect_complete("PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n", "255.255.255.255:65535",
                  "255.255.255.255:65535");
  expect_complete("PROXY TCP4 0.0.0.0 0.0.0.0 0 0\r\n", "0.0.0.0:0", "0.0.0.0:0");
  expect_complete("PROXY TCP6 2001:DB8::1 ::1 80 443\r\n", "[2001:db8::1]:80", "[::1]:443");
  expect_complete("PROXY TCP6 ::ffff:192.0.2.1 ::1 80 443\r\n", "[::ffff:192.0.2.1]:80", "[::1]:443");
}

TEST(ProxyProtocolV1, OfAnUnknownConnectionHasNoAddresses) {
  expect_complete("PROXY UNKNOWN\r\n", "none", "none");
  expect_complete("PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n", "none", "none");
  expect_complete("PROXY UNKNOWN " + std::string(107 - 16, 'x') + "\r\n", "none", "none");
}

TEST(ProxyProtocolV1, LinesAreAtMost107Bytes) {
  const std::string longest = "PROXY TCP6 " + "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "s +
                              "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n";
  EXPECT_EQ(longest.size(), 104u);  // the 107 of the specification are those of UNKNOWN
  EXPECT_EQ(read(longest).parsed.status, Status::complete);
  EXPECT_EQ(refusal("PROXY UNKNOWN " + std::string(108 - 16, 'x') + "\r\n"), "the line is longer than 107 bytes");
  EXPECT_EQ(refusal("PROXY " + std::string(101, 'x')), "the line is longer than 107 bytes");
  EXPECT_EQ(read("PROXY " + std::string(100, 'x')).parsed.status, Status::incomplete);
}

TEST(ProxyProtocolV1, ThatIsMalformedIsRefused) {
  for (const std::string& line : {
           "TCP4 192.0.2.1 198.51.100.2 56324"s,        // a word too few
           "TCP4 192.0.2.1 198.51.100.2 56324 443 "s,   // a word too many
           "TCP4 192.0.2.1 198.51.100.2 56324 443 1"s,  //
           "TCP4  192.0.2.1 198.51.100.2 56324 443"s,   // two spaces
           "TCP4 192.0.2.1\t198.51.100.2 56324 443"s,   //
           "TCP4 192.0.2.1 198.51.100.2 56324 65536"s,  //
           "TCP4 192.0.2.1 198.51.100.2 056324 443"s,   //
           "TCP4 192.0.2.1 198.51.100.2 00 443"s,       //
           "TCP4 192.0.2.1 198.51.100.2 +1 443"s,       //
           "TCP4 192.0.2.1 198.51.100.2 -1 443"s,       //
           "TCP4 192.0.2.1 198.51.100.2  443"s,         // an empty port
           "TCP4 192.0.2.01 198.51.100.2 1 443"s,       // a leading zero
           "TCP4 192.0.2 198.51.100.2 1 443"s,          //
           "TCP4 192.0.2.256 198.51.100.2 1 443"s,      //
           "TCP4 192.0.2.1\0 198.51.100.2 1 443"s,      //
           "TCP4 192.0.2.1:9 198.51.100.2 1 443"s,      //
           "TCP4 ::1 ::1 1 443"s,                       // the other family
           "TCP6 192.0.2.1 192.0.2.1 1 443"s,           //
           "TCP6 [::1] ::1 1 443"s,                     //
           "TCP6 ::1%lo ::1 1 443"s,                    //
           "TCP6 ::1 ::g 1 443"s,                       //
           "TCP4 192.0.2.1 198.51.100.2 56324 443\r"s,  // two carriage returns
           "TCP4 shop.test 198.51.100.2 56324 443"s,    // a name
       }) {
    EXPECT_EQ(refusal("PROXY " + line + "\r\n"), "an address or port is malformed") << line;
  }
  for (const char* line :
       {"", " ", "TCP", "tcp4 192.0.2.1 198.51.100.2 1 2", "UDP4 192.0.2.1 198.51.100.2 1 2", "UNKNOWNX", "unknown"}) {
    EXPECT_EQ(refusal("PROXY "s + line + "\r\n"), "neither TCP4, TCP6 nor UNKNOWN") << line;
  }
  EXPECT_EQ(refusal("PROXY TCP4 192.0.2.1 198.51.100.2 1 2\n"), "the line does not end with CRLF");
}

TEST(ProxyProtocol, IsNotGuessedFromOtherBytes) {
  for (const std::string& bytes : {"G"s, "PROXX"s, "proxy "s, "PROXY\r\n"s, "PROXY\t"s, "\n"s, "\r\n\r\nG"s,
                                   "\x16\x03"s, "\r\n\r\n\0\r\nQUIT\r"s, " PROXY "s}) {
    EXPECT_EQ(refusal(bytes), "no PROXY protocol header") << bytes;
  }
  EXPECT_EQ(read("").parsed.status, Status::incomplete);
}

TEST(ProxyProtocolV2, IsRead) {
  expect_complete(v2(0x21, 0x11, block4), "192.0.2.1:56324", "198.51.100.2:443");
  expect_complete(v2(0x21, 0x21, block6), "[2001:db8::1]:80", "[2001:db8::2]:443");
  EXPECT_FALSE(read(v2(0x21, 0x11, block4)).header.datagram);
}

TEST(ProxyProtocolV2, TellsDatagramsApart) {
  expect_complete(v2(0x21, 0x12, block4), "192.0.2.1:56324", "198.51.100.2:443");
  expect_complete(v2(0x21, 0x22, block6), "[2001:db8::1]:80", "[2001:db8::2]:443");
  EXPECT_TRUE(read(v2(0x21, 0x12, block4)).header.datagram);
  EXPECT_TRUE(read(v2(0x21, 0x22, block6)).header.datagram);
}

TEST(ProxyProtocolV2, WithoutIpAddressesHasNone) {
  expect_complete(v2(0x20, 0x00, ""), "none", "none");      // LOCAL
  expect_complete(v2(0x20, 0x11, block4), "none", "none");  // its block is skipped
  expect_complete(v2(0x20, 0xff, "anything at all"), "none", "none");
  expect_complete(v2(0x21, 0x00, ""), "none", "none");  // AF_UNSPEC
  expect_complete(v2(0x21, 0x00, "anything at all"), "none", "none");
  expect_complete(v2(0x21, 0x31, std::string(216, '/')), "none", "none");
  expect_complete(v2(0x21, 0x32, std::string(216, '/') + tlv(4, "x")), "none", "none");
}

TEST(ProxyProtocolV2, ThatIsMalformedIsRefused) {
  EXPECT_EQ(refusal(v2(0x11, 0x11, block4)), "not version 2, or no command");
  EXPECT_EQ(refusal(v2(0x22, 0x11, block4)), "not version 2, or no command");
  EXPECT_EQ(refusal(v2(0x31, 0x11, block4)), "not version 2, or no command");
  for (const unsigned family : {0x01u, 0x02u, 0x10u, 0x13u, 0x20u, 0x23u, 0x30u, 0x33u, 0x41u, 0xffu}) {
    EXPECT_EQ(refusal(v2(0x21, family, std::string(216, 'x'))), "the address family or transport is not defined");
  }
  EXPECT_EQ(refusal(v2(0x21, 0x11, block4.substr(1))), "the addresses are cut short");
  EXPECT_EQ(refusal(v2(0x21, 0x21, block6.substr(1))), "the addresses are cut short");
  EXPECT_EQ(refusal(v2(0x21, 0x31, std::string(215, 'x'))), "the addresses are cut short");
}

TEST(ProxyProtocolV2, TlvsAreSkippedIfTheyFit) {
  const std::string authority = tlv(0x02, "shop.test");
  expect_complete(v2(0x21, 0x11, block4 + authority + tlv(0x04, "") + tlv(0xee, std::string(300, 'v'))),
                  "192.0.2.1:56324", "198.51.100.2:443");
  EXPECT_EQ(refusal(v2(0x21, 0x11, block4 + "\x04")), "a TLV is cut short");
  EXPECT_EQ(refusal(v2(0x21, 0x11, block4 + authority + "\x04\0"s)), "a TLV is cut short");
  EXPECT_EQ(refusal(v2(0x21, 0x11, block4 + authority.substr(0, authority.size() - 1))),
            "a TLV is longer than the header");
  EXPECT_EQ(refusal(v2(0x21, 0x11, block4 + "\x04\xff\xff"s)), "a TLV is longer than the header");
}

TEST(ProxyProtocolV2, HeadersAreBounded) {
  const std::string largest = block4 + tlv(0x04, std::string(4096 - 12 - 3, 'p'));
  EXPECT_EQ(read(v2(0x21, 0x11, largest)).parsed.status, Status::complete);
  EXPECT_EQ(v2(0x21, 0x11, largest).size(), proxy_header_bytes_max);
  EXPECT_EQ(refusal(v2(0x21, 0x11, largest + "x").substr(0, 16)), "the header is larger than 4 KiB");
}

// CRC-32C by its definition: the remainder of a division, bit by bit (RFC 4960 appendix B).
std::uint32_t crc32c(const std::string& bytes) {
  std::uint32_t sum = 0xffffffff;
  for (const char c : bytes) {
    sum ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) sum = (sum & 1) != 0 ? sum >> 1 ^ 0x82f63b78 : sum >> 1;
  }
  return ~sum;
}

TEST(ProxyProtocolV2, ChecksumIsCheckedWhereItIsGiven) {
  ASSERT_EQ(crc32c("123456789"), 0xe3069283u);  // the check value of the catalogues
  const std::string before = block4 + tlv(0x02, "shop.test");
  const std::string behind = tlv(0x04, "padding");
  const auto with = [&](std::uint32_t sum) { return v2(0x21, 0x11, before + tlv(0x03, number(sum, 4)) + behind); };
  const std::uint32_t right = crc32c(with(0));
  expect_complete(with(right), "192.0.2.1:56324", "198.51.100.2:443");
  for (int bit = 0; bit < 32; ++bit) {
    EXPECT_EQ(refusal(with(right ^ std::uint32_t{1} << bit)), "the checksum does not match");
  }
  const std::string good = with(right);
  for (std::size_t at = 16; at < 16 + block4.size(); ++at) {
    std::string damaged = good;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    EXPECT_EQ(refusal(damaged), "the checksum does not match");
  }
  EXPECT_EQ(refusal(v2(0x21, 0x11, block4 + tlv(0x03, "123"))), "the checksum is malformed");
  EXPECT_EQ(refusal(v2(0x21, 0x11, block4 + tlv(0x03, "12345"))), "the checksum is malformed");
}

// As HAProxy 2.6 wrote it, with `proxy-v2-options crc32c,unique-id` and an empty unique id.
TEST(ProxyProtocolV2, OfHaproxyIsRead) {
  const std::string checksum = "\x0a\xa6\x73\x0d";
  expect_complete(
      v2(0x21, 0x11, "\xc0\x00\x02\x01\xc6\x33\x64\x02\x04\xd2\x01\xbb"s + tlv(0x03, checksum) + tlv(0x05, "")),
      "192.0.2.1:1234", "198.51.100.2:443");
}

TEST(ProxyProtocol, MayBeCutAnywhere) {
  for (const std::string& bytes : {"PROXY TCP4 192.0.2.1 198.51.100.2 56324 443\r\n"s, "PROXY TCP6 ::1 ::2 1 2\r\n"s,
                                   "PROXY UNKNOWN\r\n"s, v2(0x21, 0x11, block4), v2(0x21, 0x21, block6 + tlv(4, "xyz")),
                                   v2(0x20, 0, ""), v2(0x21, 0x31, std::string(216, 'u'))}) {
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_EQ(read(bytes.substr(0, size)).parsed.status, Status::incomplete);
    }
    EXPECT_EQ(read(bytes + "GET / HTTP/1.1\r\n").parsed.consumed, bytes.size());
    expect_prefix_consistency(bytes + "GET / HTTP/1.1\r\n");
  }
}

TEST(ProxyProtocol, DamagedAnywhereNeverChangesItsAnswerLater) {
  base::Rng rng(11);
  const std::vector<std::string> samples = {"PROXY TCP4 192.0.2.1 198.51.100.2 56324 443\r\nGET"s,
                                            v2(0x21, 0x11, block4 + tlv(4, "xyz")) + "GET"};
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = samples[round % samples.size()];
    for (std::uint64_t flips = rng.between(1, 3); flips > 0; --flips) {
      bytes[rng.below(bytes.size())] = static_cast<char>(rng.next());
    }
    expect_prefix_consistency(bytes);
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

std::string written(ProxyVersion version, const ProxyHeader& header) {
  base::BlockPool pool;
  return std::string(write_proxy_header(pool, version, header).view());
}

ProxyHeader between(const char* source, const char* destination, bool datagram = false) {
  return {*Address::parse(source), *Address::parse(destination), datagram};
}

TEST(ProxyProtocolWriter, WritesVersion1) {
  EXPECT_EQ(written(ProxyVersion::v1, between("192.0.2.1:56324", "198.51.100.2:443")),
            "PROXY TCP4 192.0.2.1 198.51.100.2 56324 443\r\n");
  EXPECT_EQ(written(ProxyVersion::v1, between("[2001:db8::1]:80", "[::1]:443")),
            "PROXY TCP6 2001:db8::1 ::1 80 443\r\n");
  EXPECT_EQ(written(ProxyVersion::v1, {}), "PROXY UNKNOWN\r\n");
}

TEST(ProxyProtocolWriter, WritesVersion2) {
  EXPECT_EQ(written(ProxyVersion::v2, between("192.0.2.1:56324", "198.51.100.2:443")), v2(0x21, 0x11, block4));
  EXPECT_EQ(written(ProxyVersion::v2, between("192.0.2.1:56324", "198.51.100.2:443", true)), v2(0x21, 0x12, block4));
  EXPECT_EQ(written(ProxyVersion::v2, between("[2001:db8::1]:80", "[2001:db8::2]:443")), v2(0x21, 0x21, block6));
  EXPECT_EQ(written(ProxyVersion::v2, between("[2001:db8::1]:80", "[2001:db8::2]:443", true)), v2(0x21, 0x22, block6));
  EXPECT_EQ(written(ProxyVersion::v2, {}), v2(0x20, 0x00, ""));
}

TEST(ProxyProtocolWriter, MapsIpv4BesideIpv6) {
  expect_complete(written(ProxyVersion::v1, between("192.0.2.1:1", "[::1]:2")), "[::ffff:192.0.2.1]:1", "[::1]:2");
  expect_complete(written(ProxyVersion::v2, between("[::1]:1", "192.0.2.1:2")), "[::1]:1", "[::ffff:192.0.2.1]:2");
}

TEST(ProxyProtocolWriter, IsReadAgain) {
  base::Rng rng(3);
  for (int round = 0; round < 500; ++round) {
    const unsigned family = rng.chance(500) ? 0x11 : 0x21;
    std::string block;
    while (block.size() < (family == 0x11 ? 12 : 36))
      block.push_back(static_cast<char>(rng.chance(300) ? 0 : rng.next()));
    const ProxyHeader header = read(v2(0x21, family, block)).header;
    for (const ProxyVersion version : {ProxyVersion::v1, ProxyVersion::v2}) {
      const Read again = read(written(version, header));
      EXPECT_EQ(again.parsed.status, Status::complete);
      EXPECT_EQ(again.header.source, header.source);
      EXPECT_EQ(again.header.destination, header.destination);
    }
  }
}

}  // namespace
}  // namespace ebb::wire
