#include "gate/balance.h"

#include <gtest/gtest.h>

#include <map>

#include "gate/backends.h"
#include "gate/checks.h"
#include "gate/clients.h"
#include "gate/exchanges.h"
#include "gate/h2_backends.h"
#include "gate/health.h"
#include "gate/witnesses.h"

namespace ebb::gate {
namespace {

using routes::Balance;
using Wish = routes::EndpointState;

// Endpoints of one backend, as a worker holds them; nothing is connected.
class BalanceTest : public testing::Test {
 protected:
  BalanceTest() {
    std::string why;
    reactor_ = std::move(*reactor::make_reactor(reactor::Kind::epoll, {}, why));
    core_.emplace(*reactor_, labels_);
    endpoints_.emplace(*core_);
    backends_.emplace(*core_);
    h2_backends_.emplace(*core_);
    health_.emplace(*core_);
    checks_.emplace(*core_);
    core_->backends = &*backends_;
    core_->h2_backends = &*h2_backends_;
    core_->endpoints = &*endpoints_;
    core_->health = &*health_;
    core_->checks = &*checks_;
    witnesses_.emplace(*core_);
    core_->witnesses = &*witnesses_;
  }

  void enter(const std::vector<std::pair<std::uint32_t, Wish>>& listed) {
    routes::Model model;
    routes::BackendModel& backend = model.backends.emplace_back();
    backend.name = "api";
    for (std::size_t i = 0; i < listed.size(); ++i) {
      backend.endpoints.push_back({.name = "e" + std::to_string(i),
                                   .address = *base::Address::parse("127.0.0.1:" + std::to_string(9000 + i)),
                                   .weight = listed[i].first,
                                   .state = listed[i].second});
    }
    std::shared_ptr<const routes::Snapshot> snapshot;
    ASSERT_TRUE(routes::Snapshot::compile(model, 1, labels_, snapshot).empty());
    current_ = SnapshotRef(new LocalSnapshot({snapshot, {}}, alive_));
    endpoints_->enter(*current_);
  }

  int choose(Balance balance, std::span<const base::Handle> tried = {}) {
    model_.balance = balance;
    return choose({.tried = tried});
  }
  int choose(const Claim& claim) {
    const base::Handle chosen = choose_endpoint(*core_, view(), model_, claim);
    const LiveEndpoint* endpoint = endpoints_->find(chosen);
    return endpoint == nullptr ? -1 : endpoint->address.port() - 9000;
  }
  BackendView& view() { return endpoints_->view(current_->views[0]); }
  LiveEndpoint& endpoint(std::size_t index) { return *endpoints_->find(view().endpoints[index]); }
  std::map<int, int> many(Balance balance, int times) {
    std::map<int, int> counts;
    for (int i = 0; i < times; ++i) counts[choose(balance)] += 1;
    return counts;
  }

  base::Labels labels_;
  std::unique_ptr<reactor::Reactor> reactor_;
  std::optional<Core> core_;
  std::optional<Endpoints> endpoints_;
  std::optional<Backends> backends_;
  std::optional<H2Backends> h2_backends_;
  std::optional<HealthWatch> health_;
  std::optional<Checks> checks_;
  std::optional<Witnesses> witnesses_;
  routes::BackendModel model_;
  std::uint64_t alive_ = 0;
  SnapshotRef current_;
};

TEST_F(BalanceTest, RoundRobinGivesTurnsByWeight) {
  enter({{1, Wish::ready}, {2, Wish::ready}, {1, Wish::ready}});
  EXPECT_EQ(many(Balance::round_robin, 400), (std::map<int, int>{{0, 100}, {1, 200}, {2, 100}}));
}

TEST_F(BalanceTest, LeastRequestSpreadsAnIdleBackendEvenly) {
  enter({{1, Wish::ready}, {1, Wish::ready}, {1, Wish::ready}});
  EXPECT_EQ(many(Balance::least_request, 300), (std::map<int, int>{{0, 100}, {1, 100}, {2, 100}}));
}

TEST_F(BalanceTest, LeastRequestPrefersTheLeastBusyForItsWeight) {
  enter({{1, Wish::ready}, {4, Wish::ready}});
  endpoint(0).active = 1;
  endpoint(1).active = 6;  // 7/4 is less than 2/1
  EXPECT_EQ(many(Balance::least_request, 10), (std::map<int, int>{{1, 10}}));
}

TEST_F(BalanceTest, LeavingEndpointsServeOnlyWhenNoReadyOneIsLeft) {
  enter({{1, Wish::leaving}, {1, Wish::ready}});
  EXPECT_EQ(many(Balance::round_robin, 10), (std::map<int, int>{{1, 10}}));
  enter({{1, Wish::leaving}, {1, Wish::drain}, {1, Wish::maint}});
  EXPECT_EQ(many(Balance::least_request, 10), (std::map<int, int>{{0, 10}}));
}

TEST_F(BalanceTest, DrainMaintAndWeightZeroTakeNothing) {
  enter({{1, Wish::drain}, {1, Wish::maint}, {0, Wish::ready}});
  EXPECT_EQ(choose(Balance::round_robin), -1);
  EXPECT_EQ(choose(Balance::least_request), -1);
}

TEST_F(BalanceTest, AnEndpointThatWasTriedIsNotTriedAgain) {
  enter({{1, Wish::ready}, {1, Wish::ready}});
  const std::vector<base::Handle> tried = {view().endpoints[0]};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(choose(Balance::least_request, tried), 1);
  const std::vector<base::Handle> all = view().endpoints;
  EXPECT_EQ(choose(Balance::round_robin, all), -1);
}

TEST_F(BalanceTest, AnEndpointKeepsItsStateOverSnapshots) {
  enter({{1, Wish::ready}, {1, Wish::ready}});
  endpoint(1).active = 3;
  enter({{1, Wish::ready}, {5, Wish::leaving}});
  EXPECT_EQ(endpoint(1).active, 3u);
  EXPECT_EQ(endpoint(1).weight, 5u);
  endpoint(1).active = 0;
}

TEST_F(BalanceTest, AnEndpointThatLeftGoesWhenNothingUsesIt) {
  enter({{1, Wish::ready}, {1, Wish::ready}});
  const base::Handle second = view().endpoints[1];
  endpoint(1).active = 1;
  enter({{1, Wish::ready}});
  ASSERT_NE(endpoints_->find(second), nullptr);
  endpoints_->find(second)->active = 0;
  endpoints_->settle(second);
  EXPECT_EQ(endpoints_->find(second), nullptr);
  EXPECT_EQ(endpoints_->size(), 1u);
}

TEST_F(BalanceTest, TheSameKeyGoesToTheSameEndpoint) {
  enter({{1, Wish::ready}, {1, Wish::ready}, {1, Wish::ready}});
  model_.balance = Balance::source_hash;
  std::map<int, int> counts;
  for (std::uint64_t key = 0; key < 300; ++key) {
    const int owner = choose({.key = key});
    EXPECT_EQ(choose({.key = key}), owner);
    counts[owner] += 1;
  }
  for (int i = 0; i < 3; ++i) EXPECT_GT(counts[i], 60);
}

TEST_F(BalanceTest, WithoutAKeyAHashIsADraw) {
  enter({{1, Wish::ready}, {1, Wish::ready}});
  EXPECT_EQ(many(Balance::header_hash, 100).size(), 2u);
}

// A backend that binds its clients, and clients that are bound to the second endpoint.
class StickyTest : public BalanceTest {
 protected:
  StickyTest() { model_.sticky = routes::StickyModel{.cookie = "EBB"}; }

  int choose_bound(std::span<const base::Handle> tried = {}) {
    return choose({.tried = tried, .bound = view().endpoints[1]});
  }
};

TEST_F(StickyTest, ABoundClientStays) {
  enter({{1, Wish::ready}, {1, Wish::ready}, {1, Wish::ready}});
  endpoint(1).active = 100;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(choose_bound(), 1);
  endpoint(1).active = 0;
}

TEST_F(StickyTest, WeightZeroKeepsItsOwnClients) {
  enter({{1, Wish::ready}, {0, Wish::ready}});
  EXPECT_EQ(choose_bound(), 1);
  EXPECT_EQ(many(Balance::round_robin, 10), (std::map<int, int>{{0, 10}}));
}

TEST_F(StickyTest, AClientWaitsForRoomRatherThanMove) {
  enter({{1, Wish::ready}, {1, Wish::ready}});
  view().limits.requests = 1;
  endpoint(1).active = 1;
  EXPECT_EQ(choose_bound(), -1);
  EXPECT_EQ(choose({}), 0);
  endpoint(1).active = 0;
}

TEST_F(StickyTest, AFailedTryMoves) {
  enter({{1, Wish::ready}, {1, Wish::ready}});
  const std::vector<base::Handle> tried = {view().endpoints[1]};
  EXPECT_EQ(choose_bound(tried), 0);
}

TEST_F(StickyTest, DrainingMovesWhenAnotherIsReady) {
  for (const Wish state : {Wish::drain, Wish::leaving}) {
    enter({{1, Wish::ready}, {1, state}});
    EXPECT_EQ(choose_bound(), 0);
    enter({{1, Wish::leaving}, {1, state}});
    EXPECT_EQ(choose_bound(), 1);
    enter({{0, Wish::ready}, {1, state}});
    EXPECT_EQ(choose_bound(), 1);
  }
}

TEST_F(StickyTest, DrainingKeepsUntilTheDeadlineIsNearIfToldSo) {
  model_.sticky->drain = routes::StickyDrain::keep;
  for (const Wish state : {Wish::drain, Wish::leaving}) {
    enter({{1, Wish::ready}, {1, state}});
    EXPECT_EQ(choose_bound(), 1);
    EXPECT_LT(endpoint(1).bound_until, endpoint(1).drain_until);
    endpoint(1).bound_until = reactor_->now();
    EXPECT_EQ(choose_bound(), 0);
    enter({{1, Wish::ready}, {1, Wish::ready}});  // it was not to leave after all
    EXPECT_EQ(choose_bound(), 1);
  }
}

TEST_F(StickyTest, MaintenanceMovesAlways) {
  model_.sticky->drain = routes::StickyDrain::keep;
  enter({{1, Wish::ready}, {1, Wish::maint}});
  EXPECT_EQ(choose_bound(), 0);
  enter({{1, Wish::maint}, {1, Wish::maint}});
  EXPECT_EQ(choose_bound(), -1);
}

TEST_F(StickyTest, IllHealthMoves) {
  enter({{1, Wish::ready}, {1, Wish::ready}});
  endpoint(1).health = lifecycle::Health::down;
  EXPECT_EQ(choose_bound(), 0);
  endpoint(1).health = lifecycle::Health::suspect;
  EXPECT_EQ(choose_bound(), 0);
  endpoint(0).health = lifecycle::Health::suspect;
  EXPECT_EQ(choose_bound(), 1);
}

class SlowStartTest : public BalanceTest {
 protected:
  SlowStartTest() { model_.slow_start = std::chrono::seconds{30}; }
  static constexpr std::pair<std::uint32_t, Wish> ready{1, Wish::ready};
};

TEST_F(SlowStartTest, ANewEndpointBesideOthersBeginsWithATenth) {
  enter({ready, ready});
  EXPECT_EQ(many(Balance::round_robin, 10), (std::map<int, int>{{0, 5}, {1, 5}}));
  enter({ready, ready, ready});
  EXPECT_EQ(many(Balance::round_robin, 210), (std::map<int, int>{{0, 100}, {1, 100}, {2, 10}}));
  endpoint(2).warm_since = reactor_->now() - std::chrono::seconds{15};
  EXPECT_EQ(many(Balance::least_request, 250), (std::map<int, int>{{0, 100}, {1, 100}, {2, 50}}));
  endpoint(2).warm_since = reactor_->now() - std::chrono::seconds{30};
  EXPECT_EQ(many(Balance::round_robin, 30), (std::map<int, int>{{0, 10}, {1, 10}, {2, 10}}));
}

TEST_F(SlowStartTest, ARecoveredEndpointIsNewAgain) {
  enter({ready, ready, ready});
  const std::uint64_t identity = endpoint(2).identity;
  endpoints_->set_health(identity, lifecycle::Health::down, base::Cause::backend_refused, false);
  endpoints_->set_health(identity, lifecycle::Health::up, base::Cause::completed, false);
  EXPECT_EQ(many(Balance::round_robin, 210), (std::map<int, int>{{0, 100}, {1, 100}, {2, 10}}));
}

TEST_F(SlowStartTest, AnEndpointThatComesBackFromMaintenanceIsNewAgain) {
  enter({ready, ready, {1, Wish::maint}});
  enter({ready, ready, ready});
  EXPECT_EQ(many(Balance::round_robin, 210), (std::map<int, int>{{0, 100}, {1, 100}, {2, 10}}));
}

TEST_F(SlowStartTest, IsSuspendedWhereItWouldStarve) {
  enter({ready});
  enter({ready, ready, ready});  // one of three is warm
  EXPECT_EQ(many(Balance::round_robin, 30), (std::map<int, int>{{0, 10}, {1, 10}, {2, 10}}));
  endpoint(1).warm_since = long_ago;
  EXPECT_EQ(many(Balance::round_robin, 210), (std::map<int, int>{{0, 100}, {1, 100}, {2, 10}}));
  ASSERT_TRUE(view().queue.push(nullptr, {1, 1}, 1));
  EXPECT_EQ(many(Balance::round_robin, 30), (std::map<int, int>{{0, 10}, {1, 10}, {2, 10}}));
}

}  // namespace
}  // namespace ebb::gate
