// What peers of the router judge by themselves: each breach of a rule must be told. A crooked router is played by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/datagrams.h"
#include "sim/trunk.h"

namespace ebb::sim {
namespace {

using testing::HasSubstr;

const base::Address client_at = *base::Address::parse("10.1.0.1:1000");
const base::Address listener_at = *base::Address::parse("10.0.0.1:53");

// ---- HTTP/2: an endpoint, and a router that sends what the test says -----------------------------------------------

class Nobody : public Watcher {
 public:
  void on_end_changed(base::Handle) override {}
  void on_port_changed(base::Handle) override {}
};

class Endpoint {
 public:
  explicit Endpoint(const H2Manners& manners = {}) {
    network.set_link({});
    const base::Address address = *base::Address::parse("10.2.0.1:80");
    const PortId port = network.listen(address, nobody, {});
    router = network.connect(client_at, address, nobody, {}, patient_limits());
    run(milliseconds{10});
    auto wire = std::make_unique<Wire>(network);
    wire->accept(port);
    Trunk::Told told{.stream = [this](std::unique_ptr<Line> stream) { streams.push_back(std::move(stream)); }};
    trunk = std::make_shared<Trunk>(world, Trunk::Role::endpoint, std::move(wire), manners, std::move(told));
    trunk->begin();
    say(std::string(h2_preface) + text_of(FrameType::settings, 0, 0, {}) + text_of(FrameType::settings, ack, 0, {}));
  }
  void say(std::string_view bytes) {
    network.send(router, bytes);
    run(milliseconds{10});
  }
  void run(Duration time) {
    const Instant end = world.now() + time;
    world.at(end, [] {});
    while (world.now() < end) world.step();
  }
  static std::string head(std::uint32_t stream, std::uint8_t flags, const HeadFields& more = {}) {
    HeadFields fields{{":method", "POST"}, {":scheme", "http"}, {":authority", "b0.test"}, {":path", "/x/1"}};
    fields.insert(fields.end(), more.begin(), more.end());
    return text_of(FrameType::headers, end_headers | flags, stream, pack(fields));
  }
  static std::string data(std::uint32_t stream, std::size_t size, std::uint8_t flags = 0) {
    return text_of(FrameType::data, flags, stream, std::string(size, 'x'));
  }

  World world{1};
  Network network{world};
  Nobody nobody;
  EndId router;
  std::vector<std::unique_ptr<Line>> streams;
  std::shared_ptr<Trunk> trunk;
};

TEST(H2Judge, LetsASoundRequestPass) {
  Endpoint endpoint;
  endpoint.say(Endpoint::head(1, 0, {{"content-length", "5"}}) + Endpoint::data(1, 5, end_stream));
  EXPECT_EQ(endpoint.world.failure(), "");
  ASSERT_EQ(endpoint.streams.size(), 1u);
  EXPECT_THAT(endpoint.streams.front()->read(1000), HasSubstr("POST /x/1 HTTP/1.1\r\nHost: b0.test\r\n"));
}

TEST(H2Judge, TellsOfABodyThatEndsAtAnotherLength) {
  Endpoint endpoint;
  endpoint.say(Endpoint::head(1, 0, {{"content-length", "6"}}) + Endpoint::data(1, 5, end_stream));
  EXPECT_THAT(endpoint.world.failure(), HasSubstr("ends at another length"));
}

TEST(H2Judge, TellsOfMoreThanTheWindow) {
  Endpoint endpoint({.window = 100});
  endpoint.say(Endpoint::head(1, 0) + Endpoint::data(1, 101));
  EXPECT_THAT(endpoint.world.failure(), HasSubstr("more than the stream's window"));
}

TEST(H2Judge, TellsOfMoreStreamsThanAllowed) {
  Endpoint endpoint({.streams_max = 1});
  endpoint.say(Endpoint::head(1, 0) + Endpoint::head(3, 0));
  EXPECT_THAT(endpoint.world.failure(), HasSubstr("more streams than it may have"));
}

TEST(H2Judge, TellsOfFieldsOfAConnection) {
  Endpoint endpoint;
  endpoint.say(Endpoint::head(1, end_stream, {{"connection", "close"}}));
  EXPECT_THAT(endpoint.world.failure(), HasSubstr("no place in HTTP/2"));
}

TEST(H2Judge, TellsOfPayloadBehindTheEnd) {
  Endpoint endpoint;
  endpoint.say(Endpoint::head(1, end_stream) + Endpoint::data(1, 5));
  EXPECT_THAT(endpoint.world.failure(), HasSubstr("payload behind the end"));
}

TEST(H2Judge, TellsOfPayloadOnAnIdleStream) {
  Endpoint endpoint;
  endpoint.say(Endpoint::data(7, 5));
  EXPECT_THAT(endpoint.world.failure(), HasSubstr("payload on an idle stream"));
}

// ---- datagrams -----------------------------------------------------------------------------------------------------

// A router of datagrams with one fault.
enum class Crooked : std::uint8_t { none, doubles, doubles_answers, mixes_up, invents, keeps_using, loses };

std::string failure_of(Crooked crooked) {
  World world{1};
  DatagramNetwork network{world};
  DatagramLedger ledger{world};
  const base::Address endpoint_at = *base::Address::parse("10.2.0.1:53");
  DatagramEndpoint endpoint(world, network, ledger, endpoint_at, [&] { return crooked != Crooked::keeps_using; });
  endpoint.open();
  DatagramClient one(world, network, ledger, 0, client_at, listener_at);
  DatagramClient other(world, network, ledger, 1, *base::Address::parse("10.1.0.2:1000"), listener_at);
  const base::Address flow_at = *base::Address::parse("10.0.1.1:2000");
  base::Handle front{}, flow{};
  flow = network.bind(flow_at, {.came = [&](const DatagramNetwork::Came& came) {
                        if (crooked == Crooked::loses) return;
                        const base::Address to =
                            crooked == Crooked::mixes_up ? *base::Address::parse("10.1.0.2:1000") : client_at;
                        network.send(front, listener_at, to, came.bytes);
                        if (crooked == Crooked::doubles_answers) network.send(front, listener_at, to, came.bytes);
                      }});
  front = network.bind(listener_at, {.came = [&](const DatagramNetwork::Came& came) {
                         network.send(flow, flow_at, endpoint_at,
                                      crooked == Crooked::invents ? came.bytes + "!" : came.bytes);
                         if (crooked == Crooked::doubles) network.send(flow, flow_at, endpoint_at, came.bytes);
                       }});
  one.send(3, milliseconds{1});
  while (world.step()) {
  }
  if (!world.failed() && ledger.unanswered(0) > 0) return "not answered";
  return world.failure();
}

TEST(DatagramJudge, LetsASoundRouterPass) { EXPECT_EQ(failure_of(Crooked::none), ""); }
TEST(DatagramJudge, TellsOfOneThatComesTwice) {
  EXPECT_THAT(failure_of(Crooked::doubles), HasSubstr("one came twice"));
}
TEST(DatagramJudge, TellsOfAnAnswerThatComesTwice) {
  EXPECT_THAT(failure_of(Crooked::doubles_answers), HasSubstr("an answer came twice"));
}
TEST(DatagramJudge, TellsOfAnAnswerToAnotherClient) {
  EXPECT_THAT(failure_of(Crooked::mixes_up), HasSubstr("went to another client"));
}
TEST(DatagramJudge, TellsOfOneThatNobodySent) {
  EXPECT_THAT(failure_of(Crooked::invents), HasSubstr("one that nobody has sent"));
}
TEST(DatagramJudge, TellsOfAnEndpointThatHadLeft) {
  EXPECT_THAT(failure_of(Crooked::keeps_using), HasSubstr("an endpoint that had left"));
}
TEST(DatagramJudge, TellsOfWhatIsLost) { EXPECT_EQ(failure_of(Crooked::loses), "not answered"); }

}  // namespace
}  // namespace ebb::sim
