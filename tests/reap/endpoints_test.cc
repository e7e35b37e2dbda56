#include "reap/endpoints.h"

#include <gtest/gtest.h>

#include "reap/builders.h"

namespace ebb::reap {
namespace {

using std::chrono::seconds;

constexpr const char* one = "10.1.0.5:8443";
constexpr const char* two = "10.1.0.6:8443";

class EndpointsTest : public testing::Test {
 protected:
  void know(const Truth& truth) { endpoints_.know(truth, clock_.now()); }
  Standing of(const census::Socket& socket) const { return endpoints_.standing_of(socket, clock_.now()).standing; }

  base::FakeClock clock_;
  Endpoints endpoints_;
};

TEST_F(EndpointsTest, KnowsNothingBeforeItIsTold) {
  EXPECT_EQ(of(pinned(one)), Standing::unknown);
  EXPECT_EQ(of(direct(one)), Standing::unknown);
}

TEST_F(EndpointsTest, EachStateIsFoundBehindTheServiceAndDirectly) {
  struct Case {
    Presence said;
    Standing expected;
  };
  for (const Case& each : {Case{Presence::ready, Standing::serving}, Case{Presence::leaving, Standing::leaving},
                           Case{Presence::gone, Standing::gone_listed}}) {
    know(truth_of({endpoint(one, each.said)}));
    EXPECT_EQ(of(pinned(one)), each.expected);
    EXPECT_EQ(of(direct(one)), each.expected);
  }
}

TEST_F(EndpointsTest, WhatTheServiceDoesNotHaveIsRemovedEvenIfItWasNeverSeen) {
  know(truth_of({endpoint(two)}));
  EXPECT_EQ(of(pinned(one)), Standing::removed);
  EXPECT_EQ(of(direct(one)), Standing::unknown);
  EXPECT_FALSE(endpoints_.standing_of(pinned(one), clock_.now()).since);
}

TEST_F(EndpointsTest, AnotherPortOfAnEndpointIsAnotherEndpoint) {
  know(truth_of({endpoint(two)}));
  EXPECT_EQ(of(pinned("10.1.0.6:9000")), Standing::removed);
  EXPECT_EQ(of(direct("10.1.0.6:9000")), Standing::unknown);
}

TEST_F(EndpointsTest, AProxyBesideTheProgramIsNotUnderstood) {
  know(truth_of({endpoint(two)}));
  EXPECT_EQ(of(pinned("127.0.0.1:15001")), Standing::unknown);
  EXPECT_EQ(of(pinned("10.0.0.1:15001")), Standing::unknown);  // our own address
}

TEST_F(EndpointsTest, ADirectPeerThatLeavesTheListIsRememberedForAMinute) {
  know(truth_of({endpoint(one), endpoint(two)}));
  clock_.advance(seconds{5});
  know(truth_of({endpoint(two)}));
  EXPECT_EQ(of(direct(one)), Standing::removed);
  clock_.advance(Endpoints::remembered - seconds{1});
  know(truth_of({endpoint(two)}));
  EXPECT_EQ(of(direct(one)), Standing::removed);
  clock_.advance(seconds{1});
  EXPECT_EQ(of(direct(one)), Standing::unknown);  // the address may be another's by now
  EXPECT_EQ(of(pinned(one)), Standing::removed);
}

TEST_F(EndpointsTest, WhoComesBackServesAgain) {
  know(truth_of({endpoint(one), endpoint(two)}));
  know(truth_of({endpoint(two)}));
  know(truth_of({endpoint(one), endpoint(two)}));
  EXPECT_EQ(of(direct(one)), Standing::serving);
  EXPECT_EQ(of(pinned(one)), Standing::serving);
}

TEST_F(EndpointsTest, NothingIsRemovedWhileNobodyIsReady) {
  know(truth_of({endpoint(one), endpoint(two)}));
  know(truth_of({}));
  EXPECT_EQ(of(pinned(one)), Standing::unknown);
  EXPECT_EQ(of(direct(one)), Standing::unknown);
  know(truth_of({endpoint(two, Presence::leaving)}));
  EXPECT_EQ(of(pinned(one)), Standing::unknown);
  clock_.advance(seconds{3});
  know(truth_of({endpoint("10.1.0.7:8443")}));
  EXPECT_EQ(of(pinned(one)), Standing::removed);
  EXPECT_EQ(of(direct(one)), Standing::removed);
  EXPECT_EQ(endpoints_.last_departure(clock_.now()), clock_.now());  // only now there is something to do
}

TEST_F(EndpointsTest, AServiceThatIsNoLongerListedIsNotUnderstood) {
  know(truth_of({endpoint(one), endpoint(two)}));
  know({});
  EXPECT_EQ(of(pinned(one)), Standing::unknown);
  EXPECT_EQ(of(direct(one)), Standing::unknown);
}

TEST_F(EndpointsTest, GraceCountsFromTheFirstSightAndSurvivesOtherChanges) {
  Truth truth = truth_of({endpoint(one, Presence::leaving), endpoint(two)});
  truth.services[0].grace = seconds{10};
  know(truth);
  clock_.advance(seconds{6});
  truth.services[0].endpoints.push_back(endpoint("10.1.0.7:8443"));
  know(truth);
  clock_.advance(seconds{3});
  EXPECT_EQ(of(pinned(one)), Standing::leaving);
  EXPECT_EQ(endpoints_.next_departure(clock_.now()), clock_.now() + seconds{1});
  clock_.advance(seconds{1});
  EXPECT_EQ(of(pinned(one)), Standing::past_grace);
  EXPECT_EQ(of(direct(one)), Standing::past_grace);
  EXPECT_EQ(endpoints_.last_departure(clock_.now()), clock_.now());
  EXPECT_FALSE(endpoints_.next_departure(clock_.now()));
}

TEST_F(EndpointsTest, AnEndpointsOwnGraceComesBeforeTheServices) {
  Truth truth = truth_of({endpoint(one, Presence::leaving), endpoint(two)});
  truth.services[0].endpoints[0].grace = seconds{0};
  know(truth);
  EXPECT_EQ(of(pinned(one)), Standing::past_grace);
}

TEST_F(EndpointsTest, WhoIsReadyAgainAndLeavesAgainGetsItsWholeGrace) {
  know(truth_of({endpoint(one, Presence::leaving), endpoint(two)}));
  clock_.advance(seconds{29});
  know(truth_of({endpoint(one), endpoint(two)}));
  know(truth_of({endpoint(one, Presence::leaving), endpoint(two)}));
  clock_.advance(seconds{29});
  EXPECT_EQ(of(pinned(one)), Standing::leaving);
}

TEST_F(EndpointsTest, OfTwoServicesTheOneThatStillServesItCountsForDirectPeers) {
  Truth truth = truth_of({endpoint(one), endpoint(two)});
  truth.services.push_back({.name = "shop/admin", .endpoints = {endpoint(one)}});
  know(truth);
  truth.services[0].endpoints.erase(truth.services[0].endpoints.begin());
  know(truth);
  EXPECT_EQ(of(direct(one)), Standing::serving);
  EXPECT_EQ(of(pinned(one)), Standing::removed);
}

TEST_F(EndpointsTest, ListsOfThoseThatAreGoneHoldWhateverElseIsSaid) {
  Truth truth = truth_of({endpoint(one), endpoint(two)});
  truth.gone = {*census::parse_gone("10.1.0.5"), *census::parse_gone("10.1.0.6:8443,10.2.0.0/16")};
  know(truth);
  EXPECT_EQ(of(pinned(one)), Standing::gone_listed);
  EXPECT_EQ(of(direct(two)), Standing::gone_listed);
  EXPECT_EQ(of(direct("10.1.0.6:1")), Standing::unknown);
  EXPECT_EQ(of(direct("10.2.3.4:1")), Standing::gone_listed);
  clock_.advance(seconds{9});
  know(truth);
  EXPECT_EQ(endpoints_.last_departure(clock_.now()), clock_.now() - seconds{9});
}

TEST_F(EndpointsTest, AddressesBehindUnknownServicesAreTakenForThemselves) {
  know(truth_of({endpoint(one, Presence::gone), endpoint(two)}));
  census::Socket socket = pinned(one);
  socket.peer = address("192.0.2.1:30443");
  EXPECT_EQ(of(socket), Standing::gone_listed);
}

}  // namespace
}  // namespace ebb::reap
