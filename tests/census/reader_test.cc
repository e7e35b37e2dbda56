#include <gtest/gtest.h>
#include <linux/inet_diag.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "builders.h"
#include "census/conntrack_reader.h"
#include "census/diag_reader.h"
#include "census/translations.h"

namespace ebb::census {
namespace {

// Bytes in the order in which a message has them.
class Builder {
 public:
  template <class T>
  Builder& add(const T& value) {
    const auto* const from = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof(T));
    return *this;
  }
  Builder& attribute(std::uint16_t type, Bytes value) {
    add(static_cast<std::uint16_t>(value.size() + 4)).add(type);
    bytes_.insert(bytes_.end(), value.begin(), value.end());
    bytes_.resize((bytes_.size() + 3) & ~std::size_t{3});
    return *this;
  }
  template <class T>
  Builder& number(std::uint16_t type, const T& value) {
    return attribute(type, std::as_bytes(std::span(&value, 1)));
  }
  Bytes bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

inet_diag_msg diag_message() {
  inet_diag_msg message{};
  message.idiag_family = AF_INET;
  message.idiag_state = TCP_ESTABLISHED;
  message.idiag_timer = 1;
  message.idiag_retrans = 3;
  message.idiag_expires = 1234;
  message.idiag_wqueue = 45;
  message.idiag_inode = 99;
  message.id.idiag_sport = htons(40000);
  message.id.idiag_dport = htons(443);
  message.id.idiag_src[0] = htonl(0x0a000001);
  message.id.idiag_dst[0] = htonl(0x0a000002);
  message.id.idiag_cookie[0] = 7;
  message.id.idiag_cookie[1] = 1;
  return message;
}

std::vector<std::byte> tcp_info_bytes(std::size_t size) {
  std::vector<std::byte> info(280);
  info[2] = std::byte{3};  // retransmits
  const auto put = [&info](std::size_t at, auto value) { std::memcpy(info.data() + at, &value, sizeof(value)); };
  put(8, std::uint32_t{1'632'000});
  put(24, std::uint32_t{1});
  put(52, std::uint32_t{5555});
  put(242, std::uint16_t{1});
  put(244, std::uint32_t{2900});
  info.resize(size);
  return info;
}

TEST(NetlinkReader, RefusesLengthsThatDoNotFit) {
  Builder builder;
  builder.add(nlmsghdr{.nlmsg_len = 16, .nlmsg_type = 20}).add(nlmsghdr{.nlmsg_len = 400});
  Messages messages(builder.bytes());
  EXPECT_EQ(messages.next()->type, 20);
  EXPECT_FALSE(messages.malformed());
  EXPECT_FALSE(messages.next());
  EXPECT_TRUE(messages.malformed());

  for (const std::uint16_t length : {0, 3, 9}) {
    Builder attribute;
    attribute.add(length).add(std::uint16_t{1}).add(std::uint32_t{5});
    Attributes attributes(attribute.bytes());
    EXPECT_FALSE(attributes.next());
    EXPECT_TRUE(attributes.malformed());
  }
}

TEST(DiagReader, ReadsASocket) {
  Builder builder;
  builder.add(diag_message()).attribute(INET_DIAG_INFO, tcp_info_bytes(280)).number(INET_DIAG_MARK, std::uint32_t{6});
  const auto socket = read_diag_message(builder.bytes());
  ASSERT_TRUE(socket);
  EXPECT_EQ(socket->local.text(), "10.0.0.1:40000");
  EXPECT_EQ(socket->peer.text(), "10.0.0.2:443");
  EXPECT_EQ(socket->state, State::established);
  EXPECT_EQ(socket->timer, Timer::retransmit);
  EXPECT_EQ(socket->timer_ms, 1234U);
  EXPECT_EQ(socket->cookie, 0x1'0000'0007U);
  EXPECT_EQ(socket->send_queue, 45U);
  EXPECT_EQ(socket->mark, 6U);
  EXPECT_EQ(socket->retransmits, 3U);
  EXPECT_EQ(socket->rto_us, 1'632'000U);
  EXPECT_EQ(socket->last_received_ms, 5555U);
  EXPECT_EQ(socket->stalls, 1U);
  EXPECT_EQ(socket->stalled_ms, 2900U);
}

TEST(DiagReader, TakesTheTcpInfoOfOlderKernels) {
  Builder builder;
  builder.add(diag_message()).attribute(INET_DIAG_INFO, tcp_info_bytes(232));
  const auto socket = read_diag_message(builder.bytes());
  ASSERT_TRUE(socket);
  EXPECT_EQ(socket->retransmits, 3U);
  EXPECT_EQ(socket->stalls, 0U);
}

TEST(DiagReader, UnmapsIpv4InIpv6) {
  inet_diag_msg message = diag_message();
  message.idiag_family = AF_INET6;
  message.id.idiag_src[0] = 0;
  message.id.idiag_src[2] = htonl(0xffff);
  message.id.idiag_src[3] = htonl(0x0a000001);
  message.id.idiag_dst[0] = htonl(0xfd000000);
  Builder builder;
  builder.add(message);
  const auto socket = read_diag_message(builder.bytes());
  ASSERT_TRUE(socket);
  EXPECT_EQ(socket->local.text(), "10.0.0.1:40000");
  EXPECT_EQ(socket->peer.text(), "[fd00::]:443");
}

TEST(DiagReader, RefusesWhatTheKernelDoesNotSay) {
  const auto refused = [](auto change) {
    inet_diag_msg message = diag_message();
    change(message);
    Builder builder;
    builder.add(message);
    return !read_diag_message(builder.bytes());
  };
  EXPECT_TRUE(refused([](auto& m) { m.idiag_family = AF_UNIX; }));
  EXPECT_TRUE(refused([](auto& m) { m.idiag_state = 0; }));
  EXPECT_TRUE(refused([](auto& m) { m.idiag_state = 13; }));
  EXPECT_TRUE(refused([](auto& m) { m.idiag_timer = 5; }));
  Builder short_mark;
  short_mark.add(diag_message()).number(INET_DIAG_MARK, std::uint16_t{6});
  EXPECT_FALSE(read_diag_message(short_mark.bytes()));
  Builder short_info;
  short_info.add(diag_message()).attribute(INET_DIAG_INFO, tcp_info_bytes(103));
  EXPECT_FALSE(read_diag_message(short_info.bytes()));
}

TEST(DiagReader, SurvivesACutAtEveryByte) {
  Builder builder;
  builder.add(diag_message()).attribute(INET_DIAG_INFO, tcp_info_bytes(280)).number(INET_DIAG_MARK, std::uint32_t{6});
  for (std::size_t size = 0; size < sizeof(inet_diag_msg); ++size) {
    EXPECT_FALSE(read_diag_message(builder.bytes().first(size)));
  }
  for (std::size_t size = sizeof(inet_diag_msg) + 1; size < builder.bytes().size(); ++size) {
    const std::vector<std::byte> exact(builder.bytes().begin(),
                                       builder.bytes().begin() + static_cast<std::ptrdiff_t>(size));
    read_diag_message(exact);
  }
}

Builder tuple(std::uint32_t source, std::uint16_t source_port, std::uint32_t destination,
              std::uint16_t destination_port, std::uint8_t protocol = IPPROTO_TCP) {
  Builder ip;
  ip.number(CTA_IP_V4_SRC, htonl(source)).number(CTA_IP_V4_DST, htonl(destination));
  Builder proto;
  proto.number(CTA_PROTO_NUM, protocol)
      .number(CTA_PROTO_SRC_PORT, htons(source_port))
      .number(CTA_PROTO_DST_PORT, htons(destination_port));
  Builder whole;
  whole.attribute(CTA_TUPLE_IP | NLA_F_NESTED, ip.bytes()).attribute(CTA_TUPLE_PROTO | NLA_F_NESTED, proto.bytes());
  return whole;
}

Builder tracked(const Builder& original, const Builder& reply) {
  Builder message;
  message.add(nfgenmsg{.nfgen_family = AF_INET})
      .attribute(CTA_TUPLE_ORIG | NLA_F_NESTED, original.bytes())
      .attribute(CTA_TUPLE_REPLY | NLA_F_NESTED, reply.bytes());
  return message;
}

TEST(ConntrackReader, FindsTheRealPeerBehindAServiceAddress) {
  const auto message = tracked(tuple(0x0a000001, 40000, 0x0a600001, 443), tuple(0x0a010005, 8443, 0x0a000001, 40000));
  const auto entry = read_conntrack_message(message.bytes());
  ASSERT_TRUE(entry);
  EXPECT_TRUE(entry->translated());
  Translations translations;
  translations.add(*entry);
  EXPECT_EQ(translations.real_peer(address("10.0.0.1:40000"), address("10.96.0.1:443")).text(), "10.1.0.5:8443");
  EXPECT_FALSE(translations.real_peer(address("10.0.0.1:40001"), address("10.96.0.1:443")).valid());
}

TEST(ConntrackReader, FindsTheRealClientBehindAMasquerade) {
  const auto message = tracked(tuple(0x0a010007, 5555, 0x0a020001, 80), tuple(0x0a020001, 80, 0xc0a80001, 6666));
  Translations translations;
  translations.add(*read_conntrack_message(message.bytes()));
  EXPECT_EQ(translations.real_peer(address("10.2.0.1:80"), address("192.168.0.1:6666")).text(), "10.1.0.7:5555");
}

TEST(ConntrackReader, KeepsNothingOfWhatIsNotTranslated) {
  const auto message = tracked(tuple(1, 2, 3, 4), tuple(3, 4, 1, 2));
  Translations translations;
  translations.add(*read_conntrack_message(message.bytes()));
  EXPECT_EQ(translations.size(), 0U);
}

TEST(ConntrackReader, LeavesOtherProtocolsAndSurvivesACutAtEveryByte) {
  const auto udp = tracked(tuple(1, 2, 3, 4, IPPROTO_UDP), tuple(3, 4, 1, 2, IPPROTO_UDP));
  EXPECT_EQ(read_conntrack_message(udp.bytes()).error(), TrackedFault::other_protocol);
  const auto message = tracked(tuple(1, 2, 3, 4), tuple(5, 6, 1, 2));
  for (std::size_t size = 0; size < message.bytes().size(); ++size) {
    const std::vector<std::byte> exact(message.bytes().begin(),
                                       message.bytes().begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(read_conntrack_message(exact)) << size;
  }
}

}  // namespace
}  // namespace ebb::census
