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

// It has become slow, and answers everything: it is doubted, since its siblings are quick, until its answers come. It
// must not stay without work for ever because nobody waits for them.
TEST(Slow, EndpointThatHasBecomeSlowIsHeardAndGetsWork) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SmallWorld small(backend(routes::Balance::round_robin), 3, {}, 2, seed);
    ask_every(small, milliseconds{10}, seconds{60}, milliseconds{50}, get());
    small.at(seconds{5}, [&] { small.process(0).set_habits({.slow = seconds{3}}); });
    small.run(seconds{70});
    EXPECT_EQ(small.world.failure(), "");
    EXPECT_EQ(small.ledger.count(Outcome::answered), small.ledger.all().size());
    const auto late = std::ranges::count_if(small.ledger.all(), [&](const Exchange& exchange) {
      return exchange.sent_at > Instant{seconds{30}} && exchange.endpoint == small.process(0).name();
    });
    EXPECT_GT(late, 50) << "of 600, seed " << seed;
    EXPECT_LT(small.facts(0).tally.moved, 100u) << "seed " << seed;
  }
}

// An old write must not be carried out after a newer one that another endpoint has answered.
TEST(Slow, OnlyRequestsThatChangeNothingLeaveAWitness) {
  for (const char* method : {"GET", "PUT"}) {
    SmallWorld small(backend(routes::Balance::round_robin), 3);
    ask_every(small, milliseconds{10}, seconds{12}, milliseconds{20}, {.method = method, .plan = {.bytes = 100}});
    small.at(seconds{3}, [&] { small.process(0).fall_ill(Ill::frozen); });
    small.run(seconds{7});
    EXPECT_GT(small.facts(0).tally.moved, 0u) << method;
    const std::size_t witnesses = small.place().inhabitant->audit().witnesses;
    EXPECT_EQ(witnesses > 0, std::string_view(method) == "GET") << witnesses;
  }
}

// A client that comes back to it with each request has no other way.
TEST(Slow, WitnessesTakeNoClientsPlace) {
  routes::BackendModel model = backend(routes::Balance::round_robin);
  model.endpoint_limits.requests = 4;
  SmallWorld small(std::move(model), 3);
  ask_every(small, milliseconds{10}, seconds{40}, milliseconds{50}, get());
  small.at(seconds{3}, [&] { small.process(0).fall_ill(Ill::frozen); });
  for (int i = 4; i < 20; ++i) {
    small.run(seconds{i});
    EXPECT_LT(small.place().inhabitant->audit().witnesses, 4u);
  }
  small.process(0).recover();
  small.run(seconds{45});
  EXPECT_EQ(small.ledger.count(Outcome::answered), small.ledger.all().size());
}

// What it has lost it will never answer: its witnesses wait for long, and must give way to requests that it would
// answer.
TEST(Slow, WitnessesGiveWayWhenTheirPlaceIsNeeded) {
  routes::BackendModel model = backend(routes::Balance::round_robin);
  model.endpoint_limits.requests = 8;
  SmallWorld small(std::move(model), 3);
  ask_every(small, milliseconds{10}, seconds{22}, milliseconds{50}, get());
  small.at(seconds{12}, [&] { small.process(0).fall_ill(Ill::mute); });
  small.at(milliseconds{21'900}, [&] { small.process(0).recover(); });
  small.run(seconds{25});
  const std::size_t witnesses = small.place().inhabitant->audit().witnesses;
  ASSERT_GT(witnesses, 0u);
  ASSERT_EQ(small.facts(0).in_flight.total(), witnesses);
  small.site.set_standing(0, 1, Standing::maint);
  small.site.set_standing(0, 2, Standing::maint);
  small.site.tell(0);
  for (int i = 0; i < 8; ++i) small.ask(milliseconds{25'100}, {get(seconds{2})});
  small.run(seconds{26});
  EXPECT_EQ(small.place().inhabitant->audit().witnesses, 0u);
  EXPECT_EQ(small.facts(0).in_flight.sent, 8u) << "the limit holds, and only clients have places";
  small.run(seconds{28});
  EXPECT_EQ(small.ledger.count(Outcome::answered), small.ledger.all().size());
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

routes::HealthModel checks() { return {.http = "/healthz", .every = milliseconds{500}, .timeout = milliseconds{200}}; }

// What all of them need hangs: their checks tell of each in turn. No other endpoint would have answered sooner.
TEST(Slow, WhereAllHangAndTheirChecksTooNothingMoves) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    routes::BackendModel model = backend(routes::Balance::round_robin);
    model.health = checks();
    SmallWorld small(std::move(model), 3, {}, 2, seed);
    ask_every(small, milliseconds{10}, seconds{12}, milliseconds{20}, get());
    small.at(seconds{4}, [&] {
      for (std::size_t i = 0; i < 3; ++i) small.process(i).fall_ill(Ill::frozen);
    });
    small.at(seconds{9}, [&] {
      for (std::size_t i = 0; i < 3; ++i) small.process(i).recover();
    });
    small.run(seconds{20});
    EXPECT_EQ(small.world.failure(), "");
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(small.facts(i).tally.moved, 0u) << "seed " << seed;
      EXPECT_EQ(small.facts(i).health, lifecycle::Health::up) << "seed " << seed;
    }
  }
}

// One check may be enough for down, and several in a row be needed; the same on the way back.
TEST(Slow, ChecksCountAsManyInARowAsTheyAreAskedTo) {
  for (const std::uint32_t fall : {1u, 3u}) {
    routes::BackendModel model = backend(routes::Balance::round_robin);
    model.health = checks();
    model.health->fall = fall;
    model.health->rise = 4 - fall;
    SmallWorld small(std::move(model), 2);
    small.at(seconds{4}, [&] { small.process(0).fall_ill(Ill::frozen); });
    small.at(seconds{9}, [&] { small.process(0).recover(); });
    small.run(seconds{8});
    EXPECT_EQ(small.facts(0).health, lifecycle::Health::down) << fall;
    EXPECT_EQ(small.facts(0).why, Cause::backend_check_failed) << fall;
    small.run(seconds{20});
    EXPECT_EQ(small.facts(0).health, lifecycle::Health::up) << fall;
    EXPECT_EQ(small.world.failure(), "");
  }
}

TEST(Slow, ChecksThatNobodyAnswersSayNothingOfSilenceWhereThatIsSwitchedOff) {
  routes::BackendModel model = backend(routes::Balance::round_robin);
  model.health = checks();
  model.evidence.silence.on = false;
  SmallWorld small(model, 3);
  ask_every(small, milliseconds{10}, seconds{12}, milliseconds{20}, get());
  small.at(seconds{3}, [&] { small.process(0).fall_ill(Ill::mute); });
  small.run(seconds{8});
  EXPECT_EQ(small.facts(0).health, lifecycle::Health::down);
  EXPECT_EQ(small.facts(0).doubt, lifecycle::Doubt::none);
  EXPECT_EQ(small.facts(0).tally.moved + small.facts(0).tally.trials, 0u);
}

// Of what was found out before it was switched off nothing is left.
TEST(Slow, DoubtEndsWhenItIsSwitchedOff) {
  routes::BackendModel model = backend(routes::Balance::round_robin);
  model.health = checks();
  SmallWorld small(model, 3);
  ask_every(small, milliseconds{10}, seconds{12}, milliseconds{20}, get());
  small.at(seconds{3}, [&] { small.process(0).fall_ill(Ill::mute); });
  small.run(seconds{8});
  ASSERT_EQ(small.facts(0).doubt, lifecycle::Doubt::confirmed);
  small.site.groups().front().model.evidence.silence.on = false;
  small.site.apply();
  small.run(seconds{10});
  EXPECT_EQ(small.facts(0).doubt, lifecycle::Doubt::none);
  EXPECT_EQ(small.facts(0).health, lifecycle::Health::down);
}

// And that it does not answer a trial says nothing then.
TEST(Slow, WhereAllHangTrialsConfirmNothing) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SmallWorld small(backend(routes::Balance::round_robin), 3, {}, 1, seed);
    ask_every(small, milliseconds{10}, seconds{30}, milliseconds{20}, get());
    small.at(seconds{6}, [&] { small.process(0).fall_ill(Ill::frozen); });
    small.at(seconds{7}, [&] {
      for (std::size_t i = 1; i < 3; ++i) small.process(i).fall_ill(Ill::frozen);
    });
    small.at(seconds{13}, [&] {
      for (std::size_t i = 0; i < 3; ++i) small.process(i).recover();
    });
    small.run(seconds{40});
    EXPECT_EQ(small.world.failure(), "");
    EXPECT_EQ(small.ledger.count(Outcome::answered), small.ledger.all().size());
    for (std::size_t i = 0; i < 3; ++i) EXPECT_LT(small.facts(i).tally.moved, 60u) << "seed " << seed;
  }
}

// What waits there is all that it may have, so that no trial comes.
TEST(Slow, RequestThatFillsASilentEndpointIsAskedElsewhere) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    routes::BackendModel model = backend(routes::Balance::round_robin);
    model.endpoint_limits.requests = 1;
    SmallWorld small(std::move(model), 3, {}, 1, seed);
    ask_every(small, milliseconds{10}, seconds{80}, milliseconds{66}, get());
    small.at(seconds{50}, [&] { small.process(0).fall_ill(Ill::frozen); });
    small.run(seconds{85});
    EXPECT_EQ(small.ledger.count(Outcome::answered), small.ledger.all().size());
    for (const Exchange& exchange : small.ledger.all()) EXPECT_LT(exchange.ended_at - exchange.sent_at, seconds{12});
  }
}

// No trial may come to what drains, and its deadline must not fail what another endpoint would answer.
TEST(Slow, WhatWaitsOnASilentEndpointAtItsDeadlineIsAskedElsewhere) {
  routes::BackendModel model = backend(routes::Balance::round_robin);
  model.drain_deadline = seconds{2};  // before it is confirmed
  SmallWorld small(std::move(model), 3);
  ask_every(small, milliseconds{10}, seconds{30}, milliseconds{66}, get());
  small.at(seconds{12}, [&] { small.process(0).fall_ill(Ill::frozen); });
  small.at(seconds{12} + milliseconds{700}, [&] {
    small.site.set_standing(0, 0, Standing::leaving);
    small.site.tell(0);
  });
  small.run(seconds{35});
  EXPECT_EQ(small.ledger.count(Outcome::answered), small.ledger.all().size());
  EXPECT_GT(small.retries(Cause::drain_deadline), 0u);
}

// Where no other endpoint serves, the deadline of a drain means what it says; and nothing is asked there twice.
TEST(Slow, WhatWaitsOnASilentEndpointAtItsDeadlineIsCutIfNobodyElseServes) {
  routes::BackendModel model = backend(routes::Balance::round_robin);
  model.drain_deadline = seconds{3};
  SmallWorld small(std::move(model), 2);
  ask_every(small, milliseconds{10}, milliseconds{12'500}, milliseconds{66}, get());
  small.at(seconds{12}, [&] { small.process(0).fall_ill(Ill::frozen); });
  small.at(milliseconds{12'600}, [&] {
    small.site.set_standing(0, 1, Standing::maint);
    small.site.set_standing(0, 0, Standing::leaving);
    small.site.tell(0);
  });
  small.run(milliseconds{15'500});
  EXPECT_GT(small.facts(0).in_flight.total(), 0u);
  small.run(milliseconds{15'700});
  EXPECT_EQ(small.facts(0).in_flight.total(), 0u);
  EXPECT_EQ(small.retries(Cause::drain_deadline), 0u);
  for (const Exchange& exchange : small.ledger.all()) EXPECT_LE(exchange.attempts, 1u);
}

// It has answered a few requests, none of them slowly: that is too little to be sure of it, but time passes.
TEST(Slow, EndpointThatFreezesAfterAFewAnswersLosesItsGets) {
  for (const int answers : {3, 8, 10, 12, 15, 18, 25, 32}) {
    for (const std::uint32_t endpoints : {2u, 3u}) {
      SmallWorld small(backend(), endpoints);
      const Duration known = milliseconds{20} * answers * static_cast<int>(endpoints);
      ask_every(small, milliseconds{10}, known, milliseconds{20}, get());
      small.at(known + milliseconds{5}, [&] { small.process(0).fall_ill(Ill::frozen); });
      ask_every(small, known + milliseconds{300}, known + seconds{40}, milliseconds{300}, get());
      small.run(known + seconds{45});
      EXPECT_EQ(small.world.failure(), "");
      for (const Exchange& exchange : small.ledger.all()) {
        EXPECT_EQ(exchange.outcome, Outcome::answered) << answers << " answers of each of " << endpoints;
        EXPECT_LT(exchange.ended_at - exchange.sent_at, answers < 10 ? seconds{14} : seconds{12})
            << answers << " answers of each of " << endpoints;
      }
    }
  }
}

// Nobody asks its siblings, and so nobody knows that they would answer.
TEST(Slow, FrozenEndpointWithNearlyAllTheWeightLosesItsGets) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    SmallWorld small(backend(), 2, {}, 1, seed);
    small.site.groups().front().endpoints[0].weight = 100;
    small.site.tell(0);
    ask_every(small, milliseconds{10}, seconds{70}, milliseconds{500}, get());
    small.at(seconds{25}, [&] { small.process(0).fall_ill(Ill::frozen); });
    small.run(seconds{75});
    EXPECT_EQ(small.world.failure(), "");
    for (const Exchange& exchange : small.ledger.all()) {
      EXPECT_EQ(exchange.outcome, Outcome::answered) << "seed " << seed;
      EXPECT_LT(exchange.ended_at - exchange.sent_at, seconds{8}) << "seed " << seed;
    }
  }
}

// Those that leave still serve where the last one that stays is silent.
TEST(Slow, FrozenEndpointLosesItsGetsToSiblingsThatLeave) {
  for (const milliseconds gap : {milliseconds{50}, milliseconds{330}}) {
    routes::BackendModel model = backend();
    model.drain_deadline = minutes{2};
    SmallWorld small(std::move(model), 2);
    ask_every(small, milliseconds{10}, seconds{50}, gap, get());
    small.at(seconds{20}, [&] {
      small.site.set_standing(0, 1, Standing::leaving);
      small.site.tell(0);
    });
    small.at(seconds{22}, [&] { small.process(0).fall_ill(Ill::frozen); });
    small.run(seconds{60});
    EXPECT_EQ(small.world.failure(), "");
    for (const Exchange& exchange : small.ledger.all()) {
      EXPECT_EQ(exchange.outcome, Outcome::answered);
      EXPECT_LT(exchange.ended_at - exchange.sent_at, seconds{8});
    }
  }
}

// What else a sibling has been working on for long tells nothing of what it would answer.
TEST(Slow, FrozenEndpointWithTheWeightLosesItsGetsAlsoWhereItsSiblingIsAtWork) {
  routes::BackendModel model = backend();
  model.response_timeout = minutes{10};
  SmallWorld small(std::move(model), 2);
  for (int i = 0; i < 2; ++i) small.ask(milliseconds{5}, {post(minutes{5})});
  small.at(milliseconds{8}, [&] {
    small.site.groups().front().endpoints[0].weight = 100;
    small.site.tell(0);
  });
  ask_every(small, milliseconds{20}, seconds{45}, milliseconds{500}, get());
  small.at(seconds{18}, [&] { small.process(0).fall_ill(Ill::frozen); });
  small.run(seconds{50});
  EXPECT_EQ(small.world.failure(), "");
  for (const Exchange& exchange : small.ledger.all()) {
    if (exchange.method != "GET") continue;
    EXPECT_EQ(exchange.outcome, Outcome::answered);
    EXPECT_LT(exchange.ended_at - exchange.sent_at, seconds{8});
  }
}

// A client that is bound stays where nothing is doubted.
TEST(Slow, BoundClientIsNotAskedElsewhereForAComparison) {
  routes::BackendModel model = backend(routes::Balance::round_robin);
  model.sticky = routes::StickyModel{.cookie = "SHOP"};
  SmallWorld small(std::move(model), 2);
  std::vector<Exchange> visit(40, get());
  visit.push_back(get(seconds{6}));
  for (const int start : {10, 14, 17, 19}) small.ask(milliseconds{start}, visit, {.pause = milliseconds{20}});
  small.run(seconds{20});
  EXPECT_EQ(small.world.failure(), "");
  for (const Exchange& exchange : small.ledger.all()) EXPECT_EQ(exchange.executions, 1u);
}

// Some requests take long, at endpoints that answer others meanwhile. One of those must not keep a frozen one from
// trials.
TEST(Slow, RequestsThatAreSlowElsewhereHideNoFrozenEndpoint) {
  std::size_t failed = 0;
  for (const int gap : {100, 250, 500}) {
    for (std::uint64_t seed = 1; seed <= 15; ++seed) {
      SmallWorld small(backend(), 3, {}, 1, seed);
      base::Rng rng(seed);
      for (Duration at = milliseconds{10}; at < seconds{180}; at += milliseconds{gap}) {
        const bool slow = rng.below(1000) < 10;
        small.ask(at, {get(slow ? milliseconds{10'000 + rng.below(10'000)} : milliseconds{20})});
      }
      small.at(seconds{90}, [&] { small.process(0).fall_ill(Ill::frozen); });
      bool over = false;
      small.world.at(Instant{seconds{240}}, [&over] { over = true; });
      while (!over) small.world.step();
      failed += static_cast<std::size_t>(std::ranges::count_if(small.ledger.all(), [](const Exchange& exchange) {
        return exchange.plan.think < seconds{1} && exchange.outcome != Outcome::answered;
      }));
    }
  }
  EXPECT_EQ(failed, 0u);
}

// Slow and quick requests of one kind, at endpoints that handle one at a time: requests that run twice must not block
// so much that others fail.
TEST(Slow, SlowRequestsOfOneKindAtSerialEndpointsFailNoOther) {
  std::uint64_t slow = 0, twice = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SmallWorld small(backend(), 3, {}, 1, seed);
    for (std::size_t i = 0; i < 3; ++i) small.process(i).set_habits({.serial = true});
    base::Rng rng(seed);
    for (Duration at = milliseconds{10}; at < seconds{100}; at += milliseconds{250}) {
      const bool heavy = rng.below(100) < 3;
      small.ask(at, {get(heavy ? milliseconds{4000 + rng.below(8000)} : milliseconds{20})});
    }
    small.run(seconds{140});
    EXPECT_EQ(small.world.failure(), "");
    for (const Exchange& exchange : small.ledger.all()) {
      EXPECT_EQ(exchange.outcome, Outcome::answered) << "seed " << seed;
      if (exchange.plan.think < seconds{4}) continue;
      slow += 1;
      twice += exchange.executions > 1 ? 1 : 0;
    }
  }
  EXPECT_LE(twice * 7, slow) << twice << " of " << slow << " slow requests ran twice";
}

// Of a new kind nothing is known: behind another slow request of a serial endpoint it is not taken for a quick one.
TEST(Slow, SlowRequestsOfANewKindWaitAtASerialEndpoint) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SmallWorld small(backend(routes::Balance::round_robin), 3, {}, 1, seed);
    small.process(0).set_habits({.serial = true});
    ask_every(small, milliseconds{10}, seconds{60}, milliseconds{50}, get());
    Exchange report = get(seconds{6});
    report.segment = "report";
    ask_every(small, seconds{12}, seconds{40}, milliseconds{3100}, report);
    for (int i = 0; i < 3; ++i) small.ask(seconds{20}, {post(seconds{7})});
    small.run(seconds{80});
    EXPECT_EQ(small.ledger.count(Outcome::answered), small.ledger.all().size());
    for (const Exchange& exchange : small.ledger.all())
      if (exchange.plan.think > seconds{1}) EXPECT_EQ(exchange.executions, 1u) << exchange.method << " seed " << seed;
  }
}

// One of its requests in twenty is heavy, and it works on one at a time: while it does, it looks dead. Those that run
// twice were its trials.
TEST(Slow, SerialEndpointKeepsItsHeavyRequest) {
  std::uint64_t heavy = 0, again = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SmallWorld small(backend(), 3, {}, 1, seed);
    for (std::size_t i = 0; i < 3; ++i) small.process(i).set_habits({.serial = true});
    ask_every(small, milliseconds{10}, seconds{120}, milliseconds{100}, get());
    ask_every(small, seconds{1} + milliseconds{55}, seconds{120}, seconds{2}, get(seconds{2} + milliseconds{500}));
    small.run(seconds{130});
    EXPECT_EQ(small.world.failure(), "");
    for (const Exchange& exchange : small.ledger.all()) {
      EXPECT_EQ(exchange.outcome, Outcome::answered);
      if (exchange.plan.think < seconds{1} || exchange.sent_at < Instant{seconds{20}}) continue;
      heavy += 1;
      again += exchange.executions > 1 ? 1 : 0;
    }
  }
  EXPECT_LT(again * 20, heavy);
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
  const std::size_t witnesses = small.place().inhabitant->audit().witnesses;
  EXPECT_LE(small.facts(1).in_flight.sent, witnesses + 1) << "nobody waits there but for a trial";
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

// What fails for one client alone ejects nobody (tests/e2e/test_slow.py).
TEST(Slow, EndpointThatFailsAllClientsOfAHashIsEjected) {
  SmallWorld small(backend(routes::Balance::source_hash), 3);
  for (int i = 0; i < 30; ++i)
    small.ask(milliseconds{10 + i}, std::vector<Exchange>(100, get()), {.pause = milliseconds{50}});
  small.at(seconds{2}, [&] { small.process(0).fall_ill(Ill::resets); });
  small.run(seconds{8});
  EXPECT_GT(small.verdicts(lifecycle::Health::down, Cause::backend_reset), 0u);
}

}  // namespace
}  // namespace ebb::sim
