#include "sim/network.h"

#include <gtest/gtest.h>

#include "sim/content.h"

namespace ebb::sim {
namespace {

class NetworkTest : public testing::Test, public Watcher {
 protected:
  NetworkTest() { network_.set_link({}); }

  // Two connected ends; the first is the client's.
  std::pair<EndId, EndId> connected(const Link& link = {}, const reactor::SocketLimits& limits = patient_limits()) {
    network_.set_link(link);
    const PortId port = network_.listen(server_, *this, {});
    const EndId client = network_.connect(host_, server_, *this, {}, limits);
    run(seconds{1});
    const EndId server = network_.accept(port, *this, {}, limits);
    network_.close_port(port);
    return {client, server};
  }
  void run(Duration time) {
    const Instant until = world_.now() + time;
    bool late = false;
    world_.at(until, [&late] { late = true; });
    while (!late) world_.step();
  }

  World world_{1};
  Network network_{world_};
  base::Address host_ = *base::Address::parse("10.0.0.1:1");
  base::Address server_ = *base::Address::parse("10.0.0.2:80");

 private:
  void on_end_changed(base::Handle) override {}
  void on_port_changed(base::Handle) override {}
};

TEST_F(NetworkTest, DeliversBytesInOrderHoweverTheyAreCut) {
  const auto [client, server] = connected({.segment_max = 7, .crumbs = 50});
  const std::string sent = Content(1, Direction::request).text(0, 1000);
  EXPECT_EQ(network_.send(client, sent), sent.size());
  run(seconds{1});
  EXPECT_EQ(network_.read(server, SIZE_MAX), sent);
}

TEST_F(NetworkTest, RefusesConnectionsToAPortThatNobodyListensOn) {
  const EndId end = network_.connect(host_, server_, *this, {}, patient_limits());
  run(seconds{1});
  EXPECT_EQ(network_.error(end), ECONNREFUSED);
}

TEST_F(NetworkTest, LeavesConnectionsToADarkHostWithoutAnswerUntilTheUserTimeout) {
  network_.set_way(server_, Way::swallows);
  const EndId end = network_.connect(host_, server_, *this, {}, {.user_timeout = seconds{5}});
  run(seconds{4});
  EXPECT_EQ(network_.error(end), 0);
  EXPECT_FALSE(network_.open(end));
  run(seconds{2});
  EXPECT_EQ(network_.error(end), ETIMEDOUT);
}

TEST_F(NetworkTest, TriesASynAgainThatAFullAcceptQueueDropped) {
  const PortId port = network_.listen(server_, *this, {}, 1);
  const EndId first = network_.connect(host_, server_, *this, {}, patient_limits());
  run(milliseconds{10});
  const EndId second = network_.connect(host_, server_, *this, {}, patient_limits());
  run(milliseconds{100});
  EXPECT_TRUE(network_.open(first));
  EXPECT_FALSE(network_.open(second));
  network_.accept(port, *this, {}, patient_limits());
  run(seconds{2});
  EXPECT_TRUE(network_.open(second));
}

TEST_F(NetworkTest, StopsTheSenderWhenTheReaderDoesNotRead) {
  const auto [client, server] = connected({.send_buffer = 1000, .receive_buffer = 500});
  const std::string sent(10000, 'x');
  std::size_t taken = 0;
  for (int i = 0; i < 10; ++i) {
    taken += network_.send(client, sent);
    run(milliseconds{100});
  }
  EXPECT_EQ(taken, 1500u);
  EXPECT_EQ(network_.readable(server), 500u);
  EXPECT_EQ(network_.read(server, 100).size(), 100u);
  run(milliseconds{100});
  EXPECT_EQ(network_.writable(client), 100u);
}

TEST_F(NetworkTest, ReportsAFinOnlyAfterAllBytes) {
  const auto [client, server] = connected({.segment_max = 10});
  network_.send(client, std::string(100, 'x'));
  network_.finish(client);
  run(seconds{1});
  EXPECT_FALSE(network_.finished(server));
  EXPECT_EQ(network_.read(server, SIZE_MAX).size(), 100u);
  EXPECT_TRUE(network_.finished(server));
}

TEST_F(NetworkTest, LetsAHalfClosedEndReceive) {
  const auto [client, server] = connected();
  network_.finish(client);
  run(milliseconds{10});
  EXPECT_EQ(network_.send(server, "answer"), 6u);
  run(milliseconds{10});
  EXPECT_EQ(network_.read(client, SIZE_MAX), "answer");
}

TEST_F(NetworkTest, FlushesWhatAClosedEndHadToSay) {
  const auto [client, server] = connected({.segment_max = 10});
  network_.send(client, std::string(100, 'x'));
  network_.close(client);
  run(seconds{1});
  EXPECT_EQ(network_.read(server, SIZE_MAX).size(), 100u);
  EXPECT_TRUE(network_.finished(server));
  EXPECT_EQ(network_.error(server), 0);
}

TEST_F(NetworkTest, ResetsThePeerThatWritesToAClosedEnd) {
  const auto [client, server] = connected();
  network_.close(client);
  run(milliseconds{10});
  network_.send(server, "too late");
  run(milliseconds{10});
  EXPECT_EQ(network_.error(server), EPIPE) << "the FIN had come first";
  EXPECT_EQ(network_.facts(server).acknowledged, 0u);
}

TEST_F(NetworkTest, AFinAcknowledgesWhatHadArrivedBeforeIt) {
  const auto [client, server] = connected();
  network_.send(server, "in time");
  run(microseconds{150});
  EXPECT_EQ(network_.facts(server).acknowledged, 0u) << "an acknowledgement of its own takes a while";
  EXPECT_EQ(network_.read(client, SIZE_MAX), "in time");
  network_.close(client);
  run(milliseconds{1});
  EXPECT_TRUE(network_.finished(server));
  EXPECT_EQ(network_.facts(server).acknowledged, 7u);
}

TEST_F(NetworkTest, AResetMayComeBeforeTheAcknowledgementOfWhatWasRead) {
  const auto [client, server] = connected();
  network_.send(server, "read");
  run(microseconds{150});
  EXPECT_EQ(network_.read(client, SIZE_MAX), "read");
  network_.reset(client);
  run(milliseconds{100});
  EXPECT_EQ(network_.error(server), ECONNRESET);
  EXPECT_EQ(network_.facts(server).acknowledged, 0u);
}

TEST_F(NetworkTest, InABlackHoleTimeoutsGrowWithTime) {
  const auto [client, server] = connected();
  network_.black_hole(client);
  EXPECT_EQ(network_.facts(client).unacknowledged, 0u);
  network_.send(client, "lost");
  run(milliseconds{300});
  EXPECT_GT(network_.facts(client).unacknowledged, 0u);
  EXPECT_EQ(network_.facts(client).timeouts, 0u);
  run(milliseconds{600});
  EXPECT_EQ(network_.facts(client).timeouts, 2u);
}

TEST_F(NetworkTest, InABlackHoleNobodyAnswersProbes) {
  const auto [client, server] = connected();
  network_.ask_peer(client, true);
  run(seconds{1});
  EXPECT_EQ(network_.facts(client).probes, 0u);
  network_.black_hole(client);
  run(seconds{1});
  EXPECT_GT(network_.facts(client).probes, 0u);
  EXPECT_GT(network_.facts(client).silence, milliseconds{500});
  network_.ask_peer(client, false);
  EXPECT_EQ(network_.facts(client).probes, 0u);
}

TEST_F(NetworkTest, TurnsACloseWithUnreadInputIntoAReset) {
  const auto [client, server] = connected();
  network_.send(server, "unread");
  run(milliseconds{10});
  network_.close(client);
  run(milliseconds{10});
  EXPECT_EQ(network_.error(server), ECONNRESET);
}

TEST_F(NetworkTest, DropsWhatAResetEndHadNotSent) {
  const auto [client, server] = connected({.receive_buffer = 10});
  network_.send(client, std::string(100, 'x'));
  run(milliseconds{10});
  network_.reset(client);
  run(milliseconds{10});
  EXPECT_EQ(network_.error(server), ECONNRESET);
  EXPECT_LE(network_.readable(server), 20u);
}

TEST_F(NetworkTest, EndsABlackHoledSenderByTheUserTimeout) {
  const auto [client, server] = connected({}, {.user_timeout = seconds{5}, .keepalive_idle = seconds{60}});
  network_.black_hole(client);
  network_.send(client, "lost");
  run(seconds{4});
  EXPECT_EQ(network_.error(client), 0);
  run(seconds{2});
  EXPECT_EQ(network_.error(client), ETIMEDOUT);
  EXPECT_EQ(network_.readable(server), 0u);
}

TEST_F(NetworkTest, EndsABlackHoledIdleConnectionByKeepalive) {
  const auto [client, server] =
      connected({}, {.user_timeout = seconds{5}, .keepalive_idle = seconds{5}, .keepalive_interval = seconds{1}});
  network_.black_hole(server);
  run(seconds{5});
  EXPECT_EQ(network_.error(client), 0);
  run(seconds{2});
  EXPECT_EQ(network_.error(client), ETIMEDOUT);
}

TEST_F(NetworkTest, EndsASenderWhoseWindowStaysShutByTheUserTimeout) {
  const auto [client, server] = connected({.receive_buffer = 10}, {.user_timeout = seconds{5}});
  network_.send(client, std::string(100, 'x'));
  run(seconds{6});
  EXPECT_EQ(network_.error(client), ETIMEDOUT);
}

TEST_F(NetworkTest, DeliversWhatAClosedWayHadHeldUpWhenItIsOpenAgain) {
  const auto [client, server] = connected();
  network_.set_way(server_, Way::swallows);
  network_.send(client, "held up");
  run(seconds{2});
  EXPECT_EQ(network_.readable(server), 0u);
  EXPECT_EQ(network_.facts(client).timeouts, 3u);
  network_.set_way(server_, Way::open);
  run(seconds{1});
  EXPECT_EQ(network_.read(server, SIZE_MAX), "held up");
  EXPECT_EQ(network_.facts(client).unacknowledged, 0u);
}

TEST_F(NetworkTest, TellsOnlyWhoConnectsThatAHostIsUnreachable) {
  const auto [client, server] = connected();
  network_.set_way(server_, Way::unreachable);
  network_.send(client, "into the void");
  const EndId late = network_.connect(host_, server_, *this, {}, patient_limits());
  run(seconds{1});
  EXPECT_EQ(network_.error(late), EHOSTUNREACH);
  EXPECT_EQ(network_.error(client), 0);
}

TEST_F(NetworkTest, WithoutItsFinACloseShowsOnlyByAReset) {
  const auto [client, server] = connected();
  network_.set_way(server_, Way::loses_fins);
  network_.close(server);
  run(seconds{1});
  EXPECT_FALSE(network_.finish_seen(client));
  network_.send(client, "anybody there?");
  run(milliseconds{10});
  EXPECT_EQ(network_.error(client), ECONNRESET);
}

TEST_F(NetworkTest, AFinIsNotOvertakenByTheResetOfWhatCrossedIt) {
  const auto [client, server] = connected();
  network_.send(client, "crosses");
  network_.close(server);
  run(milliseconds{10});
  EXPECT_EQ(network_.error(client), EPIPE);
}

TEST_F(NetworkTest, CountsEachEndOnce) {
  const auto [client, server] = connected();
  EXPECT_EQ(network_.opened(), network_.ends() + network_.closed());
  network_.close(client);
  network_.close(server);
  run(seconds{1});
  EXPECT_EQ(network_.ends(), 0u);
  EXPECT_EQ(network_.opened(), network_.closed());
}

}  // namespace
}  // namespace ebb::sim
