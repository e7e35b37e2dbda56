// Slow is not dead, and dead is not slow: scripts of what a router must and must not conclude from silence.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sim/small_world.h"

namespace ebb::sim {
namespace {

using base::Cause;
using std::chrono::minutes;

routes::BackendModel backend(routes::Balance balance = routes::Balance::least_request) {
  routes::BackendModel model;
  model.balance = balance;
  return model;
}

Exchange get(Duration think = milliseconds{2}) { return {.method = "GET", .plan = {.bytes = 100, .think = think}}; }

Exchange post(Duration think = milliseconds{2}) {
  return {
      .method = "POST", .request_body = BodyKind::length, .request_bytes = 50, .plan = {.bytes = 100, .think = think}};
}

// Many clients that ask one thing each, one every `gap`.
void ask_every(SmallWorld& small, Duration from, Duration until, Duration gap, const Exchange& exchange) {
  for (Duration at = from; at < until; at += gap) small.ask(at, {exchange});
}

std::uint64_t answered_by(SmallWorld& small, std::size_t index) {
  return static_cast<std::uint64_t>(std::ranges::count_if(small.ledger.all(), [&](const Exchange& exchange) {
    return exchange.outcome == Outcome::answered && exchange.endpoint == small.process(index).name();
  }));
}

TEST(Slow, PostsOfManySecondsInSparseTrafficAreAnsweredAndNoGetRunsTwice) {
  for (const routes::Balance balance : {routes::Balance::least_request, routes::Balance::round_robin}) {
    SmallWorld small(backend(balance), 3);
    ask_every(small, milliseconds{10}, seconds{60}, milliseconds{600}, get());
    ask_every(small, milliseconds{300}, seconds{60}, milliseconds{1700}, post(seconds{7}));
    ask_every(small, milliseconds{500}, seconds{60}, milliseconds{1900}, get(seconds{5}));
    small.run(seconds{75});
    EXPECT_EQ(small.world.failure(), "");
    EXPECT_EQ(small.ledger.count(Outcome::answered), small.ledger.all().size());
    EXPECT_EQ(small.retries(Cause::backend_silent), 0u);
  }
}

TEST(Slow, WhereAllAreSlowNobodyIsSuspected) {
  SmallWorld small(backend(), 3);
  ask_every(small, milliseconds{10}, seconds{5}, milliseconds{20}, get());
  ask_every(small, seconds{5}, seconds{15}, milliseconds{100}, get(seconds{4}));
  small.run(seconds{25});
  EXPECT_EQ(small.world.failure(), "");
  EXPECT_EQ(small.retries(Cause::backend_silent), 0u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(small.facts(i).health, lifecycle::Health::up);
}

// It hangs: what can be repeated is answered by the other within 2 s, all else waits for it.
TEST(Slow, MuteEndpointLosesWhatCanBeRepeatedAndKeepsTheRest) {
  SmallWorld small(backend(routes::Balance::round_robin), 3);
  ask_every(small, milliseconds{10}, seconds{12}, milliseconds{20}, get());
  small.at(seconds{3}, [&] { small.process(0).fall_ill(Ill::frozen); });
  for (int i = 0; i < 9; ++i) small.ask(seconds{3} + milliseconds{5}, {post()});
  small.run(seconds{7});
  EXPECT_EQ(small.facts(0).doubt, lifecycle::Doubt::confirmed);
  EXPECT_GT(small.facts(0).tally.moved, 0u);
  EXPECT_GT(small.facts(0).in_flight.sent, 0u) << "a POST waits there";
  small.process(0).recover();
  small.run(seconds{14});
  EXPECT_EQ(small.world.failure(), "");
  EXPECT_EQ(small.ledger.count(Outcome::answered), small.ledger.all().size());
  EXPECT_EQ(small.facts(0).doubt, lifecycle::Doubt::none);
  for (const Exchange& exchange : small.ledger.all()) {
    if (exchange.method == "GET") EXPECT_LT(exchange.ended_at - exchange.sent_at, seconds{2});
  }
}

// All clients wait for it, so that no new request comes that it could be tried with.
TEST(Slow, MuteEndpointLosesRequestsAlsoWhereAllClientsWaitForIt) {
  SmallWorld small(backend(routes::Balance::round_robin), 2);
  for (int i = 0; i < 6; ++i) {
    small.ask(milliseconds{10 + 3 * i}, std::vector<Exchange>(400, get()), {.pause = milliseconds{10}});
  }
  small.at(seconds{2}, [&] { small.process(0).fall_ill(Ill::mute); });
  small.run(seconds{12});
  EXPECT_EQ(small.world.failure(), "");
  EXPECT_EQ(small.ledger.count(Outcome::answered), small.ledger.all().size());
  EXPECT_GT(small.facts(0).tally.moved, 0u);
}

// Each connection belongs to one worker. What the others know counts as well: the one whose request waits may see no
// other traffic, and the one that sees it may hardly know the endpoint.
TEST(Slow, MuteEndpointLosesRequestsAlsoWhereTheTrafficIsAnotherWorkers) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SmallWorld small(backend(), 3, {}, 2, seed);
    const std::vector<Exchange> before(600, get()), after(100, get());
    small.ask(milliseconds{10}, before, {.pause = milliseconds{15}, .never_leaves = true});
    small.at(seconds{8}, [&] { small.process(0).fall_ill(Ill::frozen); });
    for (int i = 0; i < 16; ++i) small.ask(seconds{8}, after, {.pause = milliseconds{50}, .never_leaves = true});
    small.run(seconds{16});
    EXPECT_EQ(small.world.failure(), "");
    for (const Exchange& exchange : small.ledger.all()) {
      if (exchange.sent_at == Instant{}) continue;
      const Duration taken =
          (exchange.outcome == Outcome::pending ? small.world.now() : exchange.ended_at) - exchange.sent_at;
      EXPECT_LT(taken, seconds{2}) << "seed " << seed << ", sent at " << exchange.sent_at.time_since_epoch().count();
    }
  }
}

// What another worker has said about requests that waited is no news a while later.
TEST(Slow, WhatWaitedOnAnotherWorkerLongAgoIsNotHeldAgainstItsEndpoint) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SmallWorld small(backend(), 4, {}, 2, seed);
    ask_every(small, milliseconds{10}, seconds{3}, milliseconds{10}, get());
    for (int i = 0; i < 6; ++i) small.ask(milliseconds{3200}, {get(milliseconds{2500})});
    for (int i = 0; i < 2; ++i) small.ask(seconds{15}, {get(milliseconds{900})});
    ask_every(small, seconds{15} + milliseconds{100}, seconds{16}, milliseconds{150}, get());
    small.run(seconds{20});
    EXPECT_EQ(small.world.failure(), "");
    EXPECT_EQ(small.verdicts(lifecycle::Health::suspect, Cause::backend_silent), 0u) << "seed " << seed;
  }
}

// A stream that only waits, on a host that is gone: new connections tell, and the keepalive probe.
TEST(Slow, WhatWaitsOnAHostThatIsGoneIsToldWithinTwoSeconds) {
  SmallWorld small(backend(routes::Balance::round_robin), 2);
  for (int i = 0; i < 2; ++i) small.ask(milliseconds{10}, {post(minutes{5})});
  small.run(seconds{1});
  ASSERT_EQ(small.facts(0).in_flight.sent, 1u);
  small.process(0).lose_way(Way::swallows);
  for (int i = 0; i < 4; ++i) small.ask(milliseconds{1010 + i}, {get()});
  small.run(milliseconds{3100});
  EXPECT_EQ(small.facts(0).health, lifecycle::Health::down);
  EXPECT_EQ(small.facts(0).why, Cause::backend_dead);
  EXPECT_EQ(small.facts(0).in_flight.sent, 0u);
  EXPECT_EQ(small.facts(1).in_flight.sent, 1u);
}

// First its process hangs, then its host is gone: that it is silent must not hide that it is dead.
TEST(Slow, HostThatDiesAfterItWasSilentIsCondemned) {
  SmallWorld small(backend(routes::Balance::round_robin), 3);
  ask_every(small, milliseconds{10}, seconds{12}, milliseconds{20}, get());
  small.at(seconds{3}, [&] { small.process(0).fall_ill(Ill::frozen); });
  for (int i = 0; i < 9; ++i) small.ask(seconds{3} + milliseconds{5}, {post()});
  small.run(seconds{6});
  ASSERT_EQ(small.facts(0).doubt, lifecycle::Doubt::confirmed);
  ASSERT_GT(small.facts(0).in_flight.sent, 0u);
  small.process(0).lose_way(Way::swallows);
  small.run(milliseconds{8500});
  EXPECT_EQ(small.facts(0).health, lifecycle::Health::down);
  EXPECT_EQ(small.facts(0).why, Cause::backend_dead);
  EXPECT_EQ(small.facts(0).in_flight.sent, 0u);
}

// A full accept queue drops SYNs as a dead host does; its kernel still answers.
TEST(Slow, WhoseAcceptQueueIsFullKeepsWhatItHas) {
  SmallWorld small(backend(routes::Balance::round_robin), 2);
  small.process(0).set_habits({.accept_delay = minutes{1}, .backlog = 1});
  small.run(seconds{1});
  for (int i = 0; i < 20; ++i) small.ask(seconds{1} + milliseconds{i}, {post(seconds{6})});
  small.run(seconds{9});
  EXPECT_NE(small.facts(0).why, Cause::backend_dead);
}

// Its clients, or the limit of a try, give up before a wait is long enough to count.
TEST(Slow, MuteEndpointIsFoundOutThoughEveryRequestIsGivenUpEarly) {
  routes::BackendModel model = backend(routes::Balance::round_robin);
  SmallWorld small(std::move(model), 3);
  small.site.groups().front().attempt_timeout = milliseconds{500};
  small.site.apply();
  ask_every(small, milliseconds{10}, seconds{20}, milliseconds{40}, get());
  small.at(seconds{5}, [&] { small.process(0).fall_ill(Ill::frozen); });
  small.run(seconds{10});
  EXPECT_EQ(small.facts(0).doubt, lifecycle::Doubt::confirmed);
  EXPECT_LT(small.retries(Cause::try_timeout), 60u);
  small.process(0).recover();
  small.run(seconds{22});
  EXPECT_EQ(small.world.failure(), "");
  EXPECT_EQ(small.facts(0).health, lifecycle::Health::up);
}

// Each endpoint that gets it looks dead while it works on it.
TEST(Slow, HeavyGetDoesNotWanderThroughAllEndpoints) {
  SmallWorld small(backend(routes::Balance::round_robin), 4);
  for (std::size_t i = 0; i < 4; ++i) small.process(i).set_habits({.serial = true});
  ask_every(small, milliseconds{10}, seconds{30}, milliseconds{50}, get());
  small.run(seconds{5});
  small.ask(seconds{5} + milliseconds{5}, {get(seconds{12})});
  const std::uint64_t heavy = small.ledger.all().size();
  small.run(seconds{32});
  EXPECT_EQ(small.world.failure(), "");
  const auto found = std::ranges::find(small.ledger.all(), heavy, &Exchange::id);
  ASSERT_NE(found, small.ledger.all().end());
  EXPECT_EQ(found->outcome, Outcome::answered);
  EXPECT_LE(found->executions, 2u);
}

// What is restarted has not survived its silence; the next that hangs keeps nothing for it.
TEST(Slow, RestartIsNoAnswerAfterALongSilence) {
  SmallWorld small(backend(routes::Balance::round_robin), 3);
  ask_every(small, milliseconds{10}, seconds{40}, milliseconds{20}, get());
  small.at(seconds{3}, [&] { small.process(0).fall_ill(Ill::frozen); });
  small.at(seconds{15}, [&] { small.process(0).kill(); });
  small.at(seconds{16}, [&] { small.process(0).start(); });
  small.at(seconds{25}, [&] { small.process(1).fall_ill(Ill::frozen); });
  small.run(seconds{35});
  EXPECT_EQ(small.world.failure(), "");
  for (const Exchange& exchange : small.ledger.all()) {
    if (exchange.sent_at < Instant{seconds{20}} || exchange.outcome != Outcome::answered) continue;
    EXPECT_LT(exchange.ended_at - exchange.sent_at, seconds{2});
  }
  EXPECT_EQ(small.facts(1).in_flight.sent, 0u) << "nothing that can be repeated waits there";
}

TEST(Slow, RefusedConnectionsSayNothingWhereThatIsSwitchedOff) {
  routes::BackendModel model = backend(routes::Balance::round_robin);
  model.evidence.connect = false;
  SmallWorld small(std::move(model), 3);
  ask_every(small, milliseconds{10}, seconds{6}, milliseconds{20}, get());
  small.at(seconds{3}, [&] { small.process(0).kill(); });
  small.run(seconds{6});
  EXPECT_EQ(small.facts(0).health, lifecycle::Health::up);
}

TEST(Slow, UrlThatFailsEverywhereEjectsNobody) {
  SmallWorld small(backend(routes::Balance::round_robin), 2);
  Exchange broken = get();
  broken.plan.status = 500;
  ask_every(small, milliseconds{10}, seconds{2}, milliseconds{20}, get());
  ask_every(small, seconds{2}, seconds{12}, milliseconds{200}, broken);
  small.run(seconds{13});
  EXPECT_EQ(small.world.failure(), "");
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(small.facts(i).health, lifecycle::Health::up);
  EXPECT_GT(answered_by(small, 0), 30u);
}

}  // namespace
}  // namespace ebb::sim
