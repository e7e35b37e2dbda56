// What seeds have found, as scripts: a seed means something else after the next change of what is drawn. Each builds
// the moment that went wrong, and says that it was met.
#include <gtest/gtest.h>

#include "tests/sim/small_world.h"

namespace ebb::sim {
namespace {

using base::Cause;

routes::BackendModel backend() {
  routes::BackendModel model;
  model.balance = routes::Balance::round_robin;
  model.retries = 2;
  return model;
}

Exchange get(std::uint64_t bytes) { return {.method = "GET", .plan = {.bytes = bytes}}; }

Exchange post() {
  return {.method = "POST", .request_body = BodyKind::length, .request_bytes = 500, .plan = {.bytes = 100}};
}

// A POST crosses the FIN of an endpoint that stops between accepting the connection and reading from it. The FIN proves
// that nothing had arrived, on a new connection too: another endpoint gets the request.
TEST(Found, PostThatCrossesAFinOnANewConnectionIsSentAgain) {
  std::uint64_t crossed = 0;
  for (Duration stop = milliseconds{10}; stop < milliseconds{11}; stop += microseconds{5}) {
    for (const std::size_t victim : {0, 1}) {
      SmallWorld small(backend(), 2);
      small.ask(milliseconds{10}, {post()});
      small.at(stop, [&] { small.process(victim).terminate(); });
      small.run(seconds{2});
      ASSERT_EQ(small.world.failure(), "") << stop.count();
      const Exchange& exchange = small.ledger.all().front();
      const bool replayed = small.retries(Cause::backend_closed) > 0;
      if (replayed) EXPECT_EQ(exchange.outcome, Outcome::answered) << stop.count();
      crossed += replayed ? 1 : 0;
    }
  }
  EXPECT_GT(crossed, 0u);
}

// An endpoint that answered nobody is well again. The one request that is let through to it is answered at once, and
// the answer takes longer to read than the time that was left for its first byte.
TEST(Found, AnswerToATrialMayTakeItsTime) {
  SmallWorld small(backend(), 2);
  const std::vector<Exchange> long_answers(80, get(300'000));
  for (int i = 0; i < 12; ++i)
    small.ask(milliseconds{10 + 7 * i}, long_answers, {.read_gap = milliseconds{100}, .pause = milliseconds{20}});
  small.at(seconds{8}, [&] { small.process(0).fall_ill(Ill::mute); });
  small.run(seconds{12});
  ASSERT_EQ(small.world.failure(), "");
  ASSERT_EQ(small.facts(0).health, lifecycle::Health::suspect);
  const std::uint64_t before = small.facts(0).tally.requests;
  const Instant recovered = small.world.now();
  small.process(0).recover();
  small.run(seconds{60});
  EXPECT_EQ(small.world.failure(), "");
  EXPECT_EQ(small.facts(0).health, lifecycle::Health::up);
  EXPECT_GT(small.facts(0).tally.requests, before);
  std::uint64_t slow_there = 0;
  for (const Exchange& exchange : small.ledger.all()) {
    const bool there = exchange.endpoint == small.process(0).name() && exchange.sent_at > recovered;
    if (there && exchange.outcome == Outcome::answered && exchange.ended_at - exchange.sent_at > milliseconds{300})
      slow_there += 1;
  }
  EXPECT_GT(slow_there, 0u);
}

// An endpoint is out of reach, and leaves. What still waits for a connection to it at the deadline of the drain goes to
// another, whatever its method: nothing of it was sent.
TEST(Found, WhatStillConnectsAtTheDrainDeadlineGoesElsewhere) {
  routes::BackendModel model = backend();
  model.drain_deadline = milliseconds{100};
  SmallWorld small(std::move(model), 2);
  small.process(0).lose_way(Way::swallows);
  for (int i = 0; i < 6; ++i) small.ask(milliseconds{10}, {post()});
  small.at(milliseconds{12}, [&] {
    small.site.set_standing(0, 0, Standing::leaving);
    small.site.tell(0);
  });
  small.run(milliseconds{50});
  EXPECT_GT(small.facts(0).in_flight.connecting, 0u);
  small.run(seconds{5});
  EXPECT_EQ(small.world.failure(), "");
  EXPECT_EQ(small.ledger.count(Outcome::answered), 6u);
  EXPECT_GT(small.retries(Cause::drain_deadline), 0u);
}

// The router's part is done when the kernel has the end of the answer; the client still reads when its idle time is
// over.
TEST(Found, ClientThatStillReadsItsAnswerWhenItsIdleTimeIsOverGetsItWhole) {
  routes::Timeouts timeouts;
  timeouts.client_idle = milliseconds{500};
  SmallWorld small(backend(), 1, timeouts);
  small.ask(milliseconds{10}, {get(600'000)}, {.read_max = 10'000, .read_gap = milliseconds{100}});
  small.run(seconds{30});
  EXPECT_EQ(small.world.failure(), "");
  EXPECT_EQ(small.ledger.count(Outcome::answered), 1u);
  const observe::Counters counters = small.place().inhabitant->collect();
  const auto& closed = counters.closed[static_cast<std::size_t>(base::Side::client)];
  EXPECT_EQ(closed[static_cast<std::size_t>(Cause::client_idle_timeout)], 1u);
}

// A listener is removed while a connection waits in its queue, or comes just then: it is served all the same.
TEST(Found, ConnectionInTheQueueOfARemovedListenerIsServed) {
  std::uint64_t at_once = 0;
  for (Duration came = microseconds{9'000}; came < microseconds{10'500}; came += microseconds{10}) {
    SmallWorld small(backend(), 1);
    small.ask(came, {get(100)});
    small.at(milliseconds{10}, [&] { small.site.move_listener(); });
    small.run(seconds{2});
    ASSERT_EQ(small.world.failure(), "") << came.count();
    const Exchange& exchange = small.ledger.all().front();
    EXPECT_EQ(exchange.outcome, Outcome::answered) << came.count();
    // Not refused, and asked while the listener was gone.
    at_once += exchange.sent_at > Instant{milliseconds{10}} && exchange.asked == 1 ? 1 : 0;
  }
  EXPECT_GT(at_once, 0u);
}

// Checks find an endpoint down; it leaves, and is back before the next look, without checks. The book of its first life
// must not outlive it: it would take the endpoint for down, ask nobody, and hear of no further fall.
TEST(Found, EndpointThatComesBackHasANewLife) {
  for (Duration leaves = seconds{2}; leaves < milliseconds{2200}; leaves += milliseconds{10}) {
    routes::BackendModel model = backend();
    model.health = routes::HealthModel{.every = milliseconds{100}, .timeout = milliseconds{100}};
    SmallWorld small(std::move(model), 2);
    const auto stand = [&small](Standing standing) {
      small.site.set_standing(0, 0, standing);
      small.site.apply();
    };
    small.at(milliseconds{500}, [&] { small.process(0).refuse(); });
    small.run(seconds{2});
    ASSERT_EQ(small.world.failure(), "");
    ASSERT_EQ(small.facts(0).health, lifecycle::Health::down);
    small.at(leaves, [&] { stand(Standing::absent); });
    small.at(leaves + milliseconds{110}, [&] {
      small.process(0).start();
      small.site.groups().front().model.health.reset();
      stand(Standing::ready);
    });
    small.run(seconds{3});
    ASSERT_EQ(small.facts(0).health, lifecycle::Health::up);
    small.process(0).kill();
    for (int i = 0; i < 4; ++i) small.ask(seconds{3} + milliseconds{10 * (i + 1)}, {get(100)});
    small.run(seconds{4});
    EXPECT_EQ(small.facts(0).health, lifecycle::Health::down) << leaves.count();
    small.process(0).start();
    small.run(seconds{10});
    EXPECT_EQ(small.facts(0).health, lifecycle::Health::up) << leaves.count();
    EXPECT_EQ(small.world.failure(), "");
    EXPECT_EQ(small.ledger.count(Outcome::answered), 4u);
  }
}

// An answer breaks off while the client still reads those before it and has asked for another: what it asked must not
// be met by the reset of a closed socket, which would destroy them.
TEST(Found, AnswerThatBreaksOffDoesNotTakeThoseBeforeItAlong) {
  SmallWorld small(backend(), 1);
  Exchange cut = get(10'000);
  cut.plan.strike = Strike::cut_in_body;
  small.ask(milliseconds{10}, {get(20'000), get(95'000), cut, get(100)},
            {.depth = 3, .read_max = 5'000, .read_gap = milliseconds{10}});
  small.run(seconds{10});
  EXPECT_EQ(small.world.failure(), "");
  EXPECT_EQ(small.ledger.count(Outcome::answered), 3u);
  EXPECT_EQ(small.ledger.count(Outcome::broken), 1u);
}

// A request that has one try waits for its connection as long as connecting may take, though another endpoint is there.
TEST(Found, RequestWithOneTryWaitsForASlowConnection) {
  routes::BackendModel model = backend();
  model.retries = 0;
  model.connect_timeout = seconds{3};
  SmallWorld small(std::move(model), 2);
  small.process(0).lose_way(Way::swallows);
  small.ask(milliseconds{10}, {get(100)});
  small.ask(milliseconds{10}, {get(100)});
  small.at(milliseconds{500}, [&] { small.process(0).find_way(); });
  small.run(seconds{5});
  EXPECT_EQ(small.world.failure(), "");
  EXPECT_EQ(small.ledger.count(Outcome::answered), 2u);
  Duration slowest{};
  for (const Exchange& exchange : small.ledger.all()) slowest = std::max(slowest, exchange.ended_at - exchange.sent_at);
  EXPECT_GT(slowest, milliseconds{900}) << "the second SYN was waited for";
}

// An endpoint that chooses the protocol by ALPN chose HTTP/2, and its successor at the same address does not: what has
// waited for the connection is asked in HTTP/1.
TEST(Found, EndpointThatNoLongerAgreesOnHttp2IsAskedInHttp1) {
  SmallWorld small(backend(), 1, {}, 1, 1, routes::BackendProtocol::automatic);
  const auto speak = [&small](routes::BackendProtocol protocol) {
    small.process(0).set_voice({.tls = &small.site.tls(), .protocol = protocol});
  };
  speak(routes::BackendProtocol::h2);
  small.ask(milliseconds{10}, {get(100)});
  small.at(milliseconds{500}, [&] { small.process(0).terminate(); });
  small.at(milliseconds{600}, [&] {
    speak(routes::BackendProtocol::http1);
    small.process(0).start();
  });
  small.ask(milliseconds{700}, {post(), get(200)});
  small.run(seconds{5});
  EXPECT_EQ(small.world.failure(), "");
  EXPECT_EQ(small.ledger.count(Outcome::answered), 3u);
}

// The idle time of a connection is over while the last answer is still on its way, and its client asks for more: the
// reset with which a closed socket answers would destroy that answer, and the GOAWAY, which alone says that nothing was
// done.
TEST(Found, RequestThatCrossesTheEndOfAnIdleHttp2ConnectionIsAskedAgain) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {  // kernels differ in what they do to unread bytes
    routes::Timeouts timeouts;
    timeouts.client_idle = milliseconds{50};
    SmallWorld small(backend(), 1, timeouts, 1, seed);
    small.network.set_link({.gap = milliseconds{10}, .segment_max = 1000});
    small.ask_on_trunk(milliseconds{10}, {get(20'000)});
    small.ask_on_trunk(milliseconds{320}, {post()});
    small.at(milliseconds{330}, [&] { small.trunk->freeze(true); });
    small.at(milliseconds{600}, [&] { small.trunk->freeze(false); });
    small.run(seconds{5});
    ASSERT_EQ(small.world.failure(), "") << seed;
    EXPECT_EQ(small.ledger.count(Outcome::answered), 2u);
    EXPECT_EQ(small.ledger.all().back().asked_again, 1u);
  }
}

// Many bodies share a slow connection: while those of others come, one that has to wait for its turn is not late.
TEST(Found, UploadThatWaitsForItsTurnOnASlowConnectionIsNotLate) {
  routes::Timeouts timeouts;
  timeouts.client_body = seconds{1};
  SmallWorld small(backend(), 1, timeouts);
  small.network.set_link({.gap = milliseconds{10}, .segment_max = 1000});
  Exchange upload = post();
  upload.request_bytes = 100'000;
  for (int i = 0; i < 10; ++i) small.ask_on_trunk(milliseconds{10}, {upload});
  small.run(seconds{120});
  EXPECT_EQ(small.world.failure(), "");
  EXPECT_EQ(small.ledger.count(Outcome::answered), 10u);
}

// A stream that its endpoint resets shows that the connection lives: unlike a pooled connection that was stale, the
// endpoint has failed, and is not asked again while there is another.
TEST(Found, EndpointThatResetsAStreamIsNotAskedAgain) {
  routes::BackendModel model = backend();
  model.balance = routes::Balance::source_hash;
  SmallWorld small(std::move(model), 2, {}, 1, 1, routes::BackendProtocol::h2);
  Exchange struck = get(100);
  struck.plan.strike = Strike::reset_before_head;
  small.ask(milliseconds{10}, {get(100), struck});
  small.run(seconds{2});
  EXPECT_EQ(small.world.failure(), "");
  EXPECT_EQ(small.ledger.count(Outcome::answered), 2u);
  EXPECT_EQ(small.retries(Cause::backend_stream_reset), 1u);
  EXPECT_NE(small.ledger.all().front().endpoint, small.ledger.all().back().endpoint);
}

// An endpoint is in the middle of a TLS message, so that an upload to it is held, and gives its answer together with
// the end of that message: the exchange and the connection are over, and there is nobody to ask what is still unsent.
TEST(Found, EarlyAnswerBehindTheEndOfATlsMessageEndsAHeldUpload) {
  std::uint64_t answered = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SmallWorld small(backend(), 1, {}, 1, seed, routes::BackendProtocol::http1);
    small.process(0).set_voice({.tls = &small.site.tls(), .protocol = routes::BackendProtocol::http1, .rude = true});
    Exchange upload = post();
    upload.request_bytes = 100'000;
    upload.plan = {.bytes = 20'000, .early = true};
    for (int i = 0; i < 4; ++i)
      small.ask(milliseconds{10 + i}, {upload}, {.write_max = 500, .write_gap = milliseconds{5}});
    small.run(seconds{20});
    ASSERT_EQ(small.world.failure(), "") << seed;
    answered += small.ledger.count(Outcome::answered);
  }
  EXPECT_GT(answered, 0u);
}

// A mirror that never answers costs the request nothing.
TEST(Found, MirrorThatHangsDelaysNothing) {
  SmallWorld small(backend(), 1);
  small.site.add_mirror({.name = "mirror"}, {}, 1, {});
  small.site.apply();
  small.site.groups().back().endpoints.front().process->fall_ill(Ill::mute);
  small.ask(milliseconds{10}, {get(100), post()});
  small.run(seconds{1});
  EXPECT_EQ(small.world.failure(), "");
  EXPECT_EQ(small.place().inhabitant->audit().mirrors, 2u);
  for (const Exchange& exchange : small.ledger.all()) {
    EXPECT_EQ(exchange.outcome, Outcome::answered);
    EXPECT_LT(exchange.ended_at - exchange.sent_at, milliseconds{50});
  }
}

}  // namespace
}  // namespace ebb::sim
