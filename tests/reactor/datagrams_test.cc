// Datagram sockets: who sent what to which of our addresses, what does not arrive, and many at once.
#include <sys/socket.h>

#include <algorithm>

#include "reactor/fixture.h"

namespace ebb::reactor {
namespace {

constexpr std::uint32_t datagram_kind = 9;

struct Arrived {
  Owner owner;
  DatagramSocketId socket;
  base::Address peer;
  base::Address local;
  std::string bytes;
};

class DatagramRecorder : public Recorder {
 public:
  using Recorder::Recorder;
  void on_datagram(Owner owner, const Datagram& datagram) override {
    seen.push_back({owner, datagram.socket, datagram.peer, datagram.local, std::string(datagram.bytes)});
    if (then) then(datagram);
  }
  void on_unreachable(Owner, DatagramSocketId socket, const base::Error& error) override {
    unreachable.emplace_back(socket, error);
  }

  std::vector<Arrived> seen;
  std::vector<std::pair<DatagramSocketId, base::Error>> unreachable;
  std::function<void(const Datagram&)> then;
};

class DatagramsTest : public ReactorTest {
 protected:
  void SetUp() override {
    ReactorTest::SetUp();
    if (reactor_ != nullptr) recorder_ = std::make_unique<DatagramRecorder>(*reactor_);
  }

  DatagramRecorder& recorder() { return static_cast<DatagramRecorder&>(*recorder_); }
  std::vector<Arrived>& seen() { return recorder().seen; }

  DatagramSocketId bind(const char* address, std::uint32_t slot = 0) {
    const auto made = reactor_->bind_datagrams(*base::Address::parse(address), {datagram_kind, {slot, 1}});
    EXPECT_TRUE(made.has_value());
    return made.value_or(DatagramSocketId{});
  }
  DatagramSocketId connect_to(const base::Address& peer, std::uint32_t slot = 0) {
    const auto made = reactor_->connect_datagrams(peer, {datagram_kind, {slot, 1}});
    EXPECT_TRUE(made.has_value());
    return made.value_or(DatagramSocketId{});
  }
};

base::Address address_of(const Descriptor& socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&storage), &size);
  return base::Address::from(reinterpret_cast<sockaddr*>(&storage));
}

// A socket of the kernel, bound to that address.
Descriptor plain_datagrams(const char* text = "127.0.0.1:0") {
  const base::Address address = *base::Address::parse(text);
  Descriptor socket(::socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  EXPECT_EQ(::bind(socket.get(), address.raw(), address.raw_size()), 0);
  return socket;
}

void plain_send_to(const Descriptor& socket, const base::Address& to, std::string_view bytes) {
  ASSERT_EQ(::sendto(socket.get(), bytes.data(), bytes.size(), 0, to.raw(), to.raw_size()),
            static_cast<ssize_t>(bytes.size()));
}

struct Received {
  std::string bytes;
  base::Address from;  // invalid: nothing is there
};

Received plain_receive_from(const Descriptor& socket) {
  std::string bytes(65536, '\0');
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  const ssize_t got =
      ::recvfrom(socket.get(), bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&storage), &size);
  if (got < 0) return {};
  bytes.resize(static_cast<std::size_t>(got));
  return {bytes, base::Address::from(reinterpret_cast<sockaddr*>(&storage))};
}

base::Address with_port(const char* host, std::uint16_t port) {
  base::Address address = *base::Address::parse(std::string(host) + ":0");
  address.set_port(port);
  return address;
}

TEST_P(DatagramsTest, ADatagramComesWithItsPeerAndTheAnswerGoesBack) {
  const DatagramSocketId ours = bind("127.0.0.1:0", 7);
  const Descriptor peer = plain_datagrams();
  plain_send_to(peer, reactor_->datagram_address(ours), "question");
  run_until([&] { return seen().size() == 1; });
  EXPECT_EQ(seen()[0].bytes, "question");
  EXPECT_EQ(seen()[0].owner.handle.slot, 7u);
  EXPECT_EQ(seen()[0].socket, ours);
  EXPECT_EQ(seen()[0].peer, address_of(peer));
  EXPECT_EQ(seen()[0].local, reactor_->datagram_address(ours));

  EXPECT_EQ(reactor_->answer_datagram(ours, "answer", seen()[0].peer, seen()[0].local), DatagramSent::sent);
  Received received;
  run_until([&] { return (received = plain_receive_from(peer)).from.valid(); });
  EXPECT_EQ(received.bytes, "answer");
  EXPECT_EQ(received.from, reactor_->datagram_address(ours));
}

TEST_P(DatagramsTest, OnAWildcardTheAnswerLeavesFromTheAddressThatWasAsked) {
  const DatagramSocketId ours = bind("0.0.0.0:0");
  const std::uint16_t port = reactor_->datagram_address(ours).port();
  const Descriptor peer = plain_datagrams("0.0.0.0:0");
  for (const char* host : {"127.0.0.2", "127.0.0.3"}) {
    seen().clear();
    plain_send_to(peer, with_port(host, port), "who?");
    run_until([&] { return seen().size() == 1; });
    EXPECT_EQ(seen()[0].local, with_port(host, port));
    reactor_->answer_datagram(ours, "me", seen()[0].peer, seen()[0].local);
    Received received;
    run_until([&] { return (received = plain_receive_from(peer)).from.valid(); });
    EXPECT_EQ(received.from, with_port(host, port));
  }
}

TEST_P(DatagramsTest, ServesIPv6OnAWildcardBesideIPv4OnTheSamePort) {
  const DatagramSocketId six = bind("[::]:0", 6);
  const std::uint16_t port = reactor_->datagram_address(six).port();
  const auto four = reactor_->bind_datagrams(with_port("0.0.0.0", port), {datagram_kind, {4, 1}});
  ASSERT_TRUE(four);
  const Descriptor peer = plain_datagrams("[::1]:0");
  plain_send_to(peer, with_port("[::1]", port), "six");
  run_until([&] { return seen().size() == 1; });
  EXPECT_EQ(seen()[0].owner.handle.slot, 6u);
  EXPECT_EQ(seen()[0].local, with_port("[::1]", port));
  reactor_->answer_datagram(six, "yes", seen()[0].peer, seen()[0].local);
  Received received;
  run_until([&] { return (received = plain_receive_from(peer)).from.valid(); });
  EXPECT_EQ(received.from, with_port("[::1]", port));
}

TEST_P(DatagramsTest, AConnectedSocketHearsItsPeerOnly) {
  const Descriptor peer = plain_datagrams();
  const Descriptor stranger = plain_datagrams();
  const DatagramSocketId ours = connect_to(address_of(peer));
  EXPECT_EQ(reactor_->send_datagram(ours, "hello"), DatagramSent::sent);
  Received received;
  run_until([&] { return (received = plain_receive_from(peer)).from.valid(); });
  EXPECT_EQ(received.from, reactor_->datagram_address(ours));
  plain_send_to(stranger, received.from, "wrong");
  plain_send_to(peer, received.from, "right");
  run_until([&] { return !seen().empty(); });
  run_rounds(2);
  ASSERT_EQ(seen().size(), 1u);
  EXPECT_EQ(seen()[0].bytes, "right");
  EXPECT_EQ(seen()[0].peer, address_of(peer));
}

TEST_P(DatagramsTest, APortThatNobodyListensOnIsReportedAndTheSocketStaysUsable) {
  auto peer = std::make_unique<Descriptor>(plain_datagrams());
  const base::Address address = address_of(*peer);
  const DatagramSocketId ours = connect_to(address);
  peer.reset();
  EXPECT_EQ(reactor_->send_datagram(ours, "anybody?"), DatagramSent::sent);
  run_until([&] { return !recorder().unreachable.empty(); });
  EXPECT_EQ(recorder().unreachable[0].first, ours);
  EXPECT_EQ(recorder().unreachable[0].second.cause, base::Cause::backend_refused);

  const Descriptor back = plain_datagrams(address.text().c_str());
  EXPECT_EQ(reactor_->send_datagram(ours, "again"), DatagramSent::sent);
  run_until([&] { return plain_receive_from(back).bytes == "again"; });
  EXPECT_EQ(recorder().unreachable.size(), 1u);
}

TEST_P(DatagramsTest, ARefusalThatIsHeardWhileSendingLeavesTheDatagramUnsent) {
  auto peer = std::make_unique<Descriptor>(plain_datagrams());
  const DatagramSocketId ours = connect_to(address_of(*peer));
  peer.reset();
  // On the loopback the refusal is there when the call returns.
  EXPECT_EQ(reactor_->send_datagram(ours, "first"), DatagramSent::sent);
  EXPECT_EQ(reactor_->send_datagram(ours, "second"), DatagramSent::unreachable);
  EXPECT_EQ(reactor_->counters().datagrams_unsent, 0u);
}

TEST_P(DatagramsTest, EmptyAndTheLargestDatagramsKeepTheirBounds) {
  const DatagramSocketId ours = bind("127.0.0.1:0");
  const Descriptor peer = plain_datagrams();
  const std::string largest(65507, 'L');
  plain_send_to(peer, reactor_->datagram_address(ours), "");
  plain_send_to(peer, reactor_->datagram_address(ours), largest);
  plain_send_to(peer, reactor_->datagram_address(ours), "x");
  run_until([&] { return seen().size() == 3; });
  EXPECT_EQ(seen()[0].bytes, "");
  EXPECT_EQ(seen()[1].bytes, largest);
  EXPECT_EQ(seen()[2].bytes, "x");
  EXPECT_EQ(reactor_->answer_datagram(ours, largest, address_of(peer), {}), DatagramSent::sent);
  run_until([&] { return plain_receive_from(peer).bytes == largest; });
  EXPECT_EQ(reactor_->counters().datagrams_truncated, 0u);
}

TEST_P(DatagramsTest, ADatagramThatIsTooLargeIsDroppedAndCounted) {
  const DatagramSocketId ours = bind("127.0.0.1:0");
  const Descriptor peer = plain_datagrams();
  EXPECT_EQ(reactor_->answer_datagram(ours, std::string(65508, 'x'), address_of(peer), {}), DatagramSent::dropped);
  EXPECT_EQ(reactor_->counters().datagrams_unsent, 1u);
}

TEST_P(DatagramsTest, MoreThanATurnAllowsComesInTheNextRounds) {
  const DatagramSocketId ours = bind("127.0.0.1:0");
  const Descriptor peer = plain_datagrams();
  constexpr int count = 200;  // three turns; fits the kernel's usual buffer
  for (int i = 0; i < count; ++i) plain_send_to(peer, reactor_->datagram_address(ours), std::to_string(i));
  run_until([&] { return seen().size() == count; });
  for (int i = 0; i < count; ++i) EXPECT_EQ(seen()[static_cast<std::size_t>(i)].bytes, std::to_string(i));
  EXPECT_EQ(reactor_->counters().datagrams_overrun, 0u);
}

TEST_P(DatagramsTest, WhatTheKernelHadToDropIsCounted) {
  const DatagramSocketId ours = bind("127.0.0.1:0");
  const Descriptor peer = plain_datagrams();
  const std::string large(60000, 'x');
  constexpr std::size_t count = 400;
  for (std::size_t i = 0; i < count; ++i) plain_send_to(peer, reactor_->datagram_address(ours), large);
  run_until([&] { return !seen().empty(); });
  // The count of the lost travels with the next datagram that is not.
  run_until([&] {
    plain_send_to(peer, reactor_->datagram_address(ours), "probe");
    return seen().back().bytes == "probe";
  });
  const auto is_large = [&](const Arrived& one) { return one.bytes == large; };
  const auto arrived = static_cast<std::size_t>(std::count_if(seen().begin(), seen().end(), is_large));
  EXPECT_EQ(arrived + reactor_->counters().datagrams_overrun, count);
}

TEST_P(DatagramsTest, TwoReactorsShareAnAddressAndAPeerStaysWithOne) {
  const DatagramSocketId ours = bind("127.0.0.1:0");
  std::string why_not;
  auto second = make_reactor(GetParam(), SocketLimits{}, why_not);
  ASSERT_TRUE(second);
  ASSERT_TRUE((*second)->bind_datagrams(reactor_->datagram_address(ours), {datagram_kind, {0, 1}}));
  std::vector<Descriptor> peers;
  constexpr std::size_t each = 5;
  for (int i = 0; i < 32; ++i) peers.push_back(plain_datagrams());
  for (std::size_t i = 0; i < each; ++i) {
    for (const Descriptor& peer : peers) plain_send_to(peer, reactor_->datagram_address(ours), "x");
  }
  run_until([&] { return seen().size() >= each; });
  run_rounds(10);
  EXPECT_EQ(seen().size() % each, 0u) << "all datagrams of a peer or none";
  EXPECT_LT(seen().size(), each * peers.size());
}

TEST_P(DatagramsTest, AfterItsCloseASocketIsSilentAlsoInsideACallback) {
  const DatagramSocketId ours = bind("127.0.0.1:0");
  const Descriptor peer = plain_datagrams();
  const base::Address address = reactor_->datagram_address(ours);
  recorder().then = [&](const Datagram& datagram) { reactor_->close_datagrams(datagram.socket); };
  for (int i = 0; i < 5; ++i) plain_send_to(peer, address, "x");
  run_until([&] { return !seen().empty(); });
  run_rounds(2);
  EXPECT_EQ(seen().size(), 1u);
  EXPECT_EQ(reactor_->answer_datagram(ours, "late", address_of(peer), {}), DatagramSent::dropped);
  EXPECT_FALSE(reactor_->datagram_address(ours).valid());
}

TEST_P(DatagramsTest, AnAddressThatIsNotOursIsAnErrorWithItsReason) {
  const auto made = reactor_->bind_datagrams(*base::Address::parse("192.0.2.1:1"), {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().sys, EADDRNOTAVAIL);
  EXPECT_STREQ(made.error().where, "bind");
}

TEST_P(DatagramsTest, StreamsAreServedWhileDatagramsPourIn) {
  const DatagramSocketId ours = bind("127.0.0.1:0");
  const Descriptor flood = plain_datagrams();
  const Pair pair = accept_one();
  // Each datagram is answered with another to ourselves: there is always one to read.
  recorder().then = [&](const Datagram& datagram) {
    reactor_->answer_datagram(ours, datagram.bytes, reactor_->datagram_address(ours), {});
  };
  for (int i = 0; i < 100; ++i) plain_send_to(flood, reactor_->datagram_address(ours), "x");
  run_until([&] { return seen().size() > 1000; });
  plain_send(pair.peer.get(), "still here?");
  run_until([&] { return pair.ours->received == "still here?"; });
}

INSTANTIATE_TEST_SUITE_P(Reactors, DatagramsTest, testing::Values(Kind::epoll, Kind::uring),
                         [](const auto& kind) { return kind.param == Kind::epoll ? "Epoll" : "Uring"; });

}  // namespace
}  // namespace ebb::reactor
