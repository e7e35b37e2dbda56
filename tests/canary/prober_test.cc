#include "canary/prober.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "canary/stand_in.h"
#include "sim/sim_reactor.h"

namespace ebb::canary {
namespace {

using sim::milliseconds;
using sim::seconds;

class FakeResolver final : public Resolver {
 public:
  explicit FakeResolver(reactor::Reactor& reactor) : reactor_(reactor) {}
  void resolve(const std::string&, Done done) override {
    questions += 1;
    if (mute) {
      unanswered.push_back(std::move(done));
      return;
    }
    reactor_.post([this, done = std::move(done)]() mutable { done(answer); });
  }
  std::expected<base::Address, std::string> answer = *base::Address::parse("10.0.0.2:0");
  bool mute = false;
  std::vector<Done> unanswered;
  int questions = 0;

 private:
  reactor::Reactor& reactor_;
};

// The prober on one simulated host, the router on another.
class ProberTest : public testing::Test {
 protected:
  ProberTest() {
    prober_reactor_.timers();
    server_reactor_.run(stand_in_);
    stand_in_.listen(door_);
  }
  ~ProberTest() override {
    prober_.reset();
    EXPECT_EQ(prober_reactor_.sockets(), 0u);
    EXPECT_EQ(world_.failure(), "");
  }

  void start(std::vector<Protocol> protocols = {Protocol::http1_fresh, Protocol::http1_reused, Protocol::h2,
                                                Protocol::websocket},
             const std::string& host = "10.0.0.2") {
    prober_ = std::make_unique<Prober>(
        prober_reactor_, resolver_, options_,
        Prober::Callbacks{[this](const Leg& leg, const ProbeResult& result, LegState::News, const Condition&) {
                            results_.push_back({leg.name(), result});
                            most_sockets_ = std::max(most_sockets_, prober_reactor_.sockets());
                          },
                          [this](std::uint16_t port) {
                            wanted_.push_back(port);
                            if (follows_) stand_in_.port = port;
                          }});
    prober_reactor_.run(*prober_);
    doors_ = {{.replica = "a",
               .kind = Kind::plain,
               .host = host,
               .port = 80,
               .authority = "canary.example.com",
               .protocols = std::move(protocols)}};
    prober_->set_legs(*lay_out(doors_, {}));
  }
  void run(base::Duration time) {
    const base::Instant until = world_.now() + time;
    bool late = false;
    world_.at(until, [&late] { late = true; });
    while (!late) ASSERT_TRUE(world_.step());
  }
  // The fault that every leg shows when it is walked next.
  std::vector<std::string> faults() {
    results_.clear();
    run(seconds{9});
    std::vector<std::string> names;
    for (const LegFacts& leg : prober_->facts().legs) names.emplace_back(name(leg.state.last().fault));
    return names;
  }
  static std::vector<std::string> all(Fault fault, std::size_t legs = 4) {
    return std::vector<std::string>(legs, std::string(name(fault)));
  }

  struct Entry {
    std::string leg;
    ProbeResult result;
  };

  sim::World world_{7};
  sim::Network network_{world_};
  base::Address door_ = *base::Address::parse("10.0.0.2:80");
  sim::SimReactor prober_reactor_{world_, network_, *base::Address::parse("10.0.0.1:0"), {}, {}, 0};
  sim::SimReactor server_reactor_{world_, network_, door_, {}, {}, 1};
  StandIn stand_in_{server_reactor_};
  FakeResolver resolver_{prober_reactor_};
  ProberOptions options_;
  std::vector<Door> doors_;
  std::vector<Entry> results_;
  std::vector<std::uint16_t> wanted_;
  bool follows_ = true;  // the route is moved when it is asked for
  std::size_t most_sockets_ = 0;
  std::unique_ptr<Prober> prober_;
};

TEST_F(ProberTest, EveryLegSucceedsAgainstARightAnswer) {
  start();
  EXPECT_EQ(faults(), all(Fault::none));
  const ProberFacts facts = prober_->facts();
  EXPECT_EQ(facts.condition.status, Truth::yes);
  for (const LegFacts& leg : facts.legs) {
    EXPECT_TRUE(leg.last->phases[Phase::first_byte].has_value()) << leg.leg.name();
    EXPECT_FALSE(leg.last->phases[Phase::dns].has_value()) << leg.leg.name();
    EXPECT_EQ(leg.last->answer.pod, "canary-1") << leg.leg.name();
  }
}

TEST_F(ProberTest, OnlyTheReusedLegKeepsItsConnection) {
  start();
  run(seconds{30});
  EXPECT_EQ(prober_->sockets(), 1u);
  const ProberFacts facts = prober_->facts();
  EXPECT_TRUE(facts.legs[1].last->reused);
  EXPECT_FALSE(facts.legs[1].last->phases[Phase::connect].has_value());
  EXPECT_FALSE(facts.legs[0].last->reused);
}

TEST_F(ProberTest, NewConnectionIsAskedTwiceSoThatEachProbeProvesReuse) {
  options_.probes_per_leg = 1;
  start({Protocol::http1_reused});
  run(seconds{9});
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_TRUE(results_[0].result.good());
  EXPECT_TRUE(results_[0].result.reused);
  EXPECT_TRUE(results_[0].result.phases[Phase::connect].has_value());
  EXPECT_EQ(stand_in_.requests, 2u);
  EXPECT_EQ(stand_in_.accepted, 1u);
}

TEST_F(ProberTest, PeerThatClosesInsteadOfASecondAnswerIsInItsRight) {
  stand_in_.answers_per_connection = 1;
  start({Protocol::http1_reused});
  EXPECT_EQ(faults(), all(Fault::none, 1));
  EXPECT_FALSE(prober_->facts().legs[0].last->reused);
  EXPECT_TRUE(prober_->facts().legs[0].last->phases[Phase::first_byte].has_value());
  EXPECT_EQ(prober_->facts().legs[0].last->answer.pod, "canary-1");
}

TEST_F(ProberTest, PeerThatResetsInsteadOfASecondAnswerIsNot) {
  stand_in_.answers_per_connection = 1;
  stand_in_.resets = true;
  start({Protocol::http1_reused});
  EXPECT_EQ(faults(), all(Fault::reset, 1));
  EXPECT_EQ(prober_->facts().legs[0].last->judgement.detail, "reset when the connection was used again");
}

TEST_F(ProberTest, SecondAnswerThatIsWrongIsAFault) {
  stand_in_.second_status = 503;
  start();
  EXPECT_EQ(faults(), (std::vector<std::string>{"none", "status_5xx", "none", "none"}));
}

TEST_F(ProberTest, ConnectionThatItsPeerClosedIsClosedAtOnceAndMadeAnew) {
  stand_in_.keeps = false;
  start({Protocol::http1_reused});
  EXPECT_EQ(faults(), all(Fault::none, 1));
  EXPECT_EQ(prober_->sockets(), 0u);
}

TEST_F(ProberTest, PeerThatNeverClosesCostsNoSecondSocket) {
  stand_in_.clings = true;
  start();
  for (int i = 0; i < 60; ++i) {
    run(seconds{1});
    EXPECT_LE(network_.ends(), 8u) << "a leg has two ends";
  }
  EXPECT_EQ(faults(), all(Fault::none));
  EXPECT_EQ(prober_->sockets(), 4u);
}

TEST_F(ProberTest, NothingListens) {
  stand_in_.stop_listening();
  start();
  EXPECT_EQ(faults(), all(Fault::connect_refused));
}

TEST_F(ProberTest, NoWay) {
  network_.set_way(door_, sim::Way::unreachable);
  start();
  EXPECT_EQ(faults(), all(Fault::connect_unreachable));
}

TEST_F(ProberTest, PacketsAreSwallowed) {
  network_.set_way(door_, sim::Way::swallows);
  start();
  EXPECT_EQ(faults(), all(Fault::connect_timeout));
}

TEST_F(ProberTest, WindowIsShutBeforeTheRequestIsThrough) {
  sim::Link narrow;
  narrow.send_buffer = narrow.receive_buffer = 16;
  network_.set_link(narrow);
  stand_in_.trick = Trick::reads_nothing;
  start();
  EXPECT_EQ(faults(), all(Fault::write));
}

struct Played {
  Trick trick;
  Fault fault;
};
class ProberTrickTest : public ProberTest, public testing::WithParamInterface<Played> {};

TEST_P(ProberTrickTest, HasItsOwnName) {
  stand_in_.trick = GetParam().trick;
  start({Protocol::http1_fresh, Protocol::http1_reused});
  EXPECT_EQ(faults(), all(GetParam().fault, 2));
}

INSTANTIATE_TEST_SUITE_P(
    Tricks, ProberTrickTest,
    testing::Values(Played{Trick::silent, Fault::first_byte_timeout}, Played{Trick::reset, Fault::reset},
                    Played{Trick::close, Fault::truncated}, Played{Trick::close_in_body, Fault::truncated},
                    Played{Trick::stall_in_body, Fault::slow}, Played{Trick::garbage, Fault::malformed},
                    Played{Trick::forgets_nonce, Fault::wrong_body}, Played{Trick::other_nonce, Fault::wrong_body},
                    Played{Trick::other_body, Fault::wrong_body}, Played{Trick::no_body, Fault::wrong_body}));

TEST_F(ProberTest, StreamThatIsResetIsReset) {
  stand_in_.trick = Trick::reset;
  start({Protocol::h2});
  EXPECT_EQ(faults(), all(Fault::reset, 1));
}

TEST_F(ProberTest, WebsocketThatSaysSomethingElseHasTheWrongBody) {
  stand_in_.trick = Trick::other_body;
  start({Protocol::websocket});
  EXPECT_EQ(faults(), all(Fault::wrong_body, 1));
}

TEST_F(ProberTest, StatusComesBeforeAllElse) {
  stand_in_.status = 503;
  stand_in_.trick = Trick::forgets_nonce;
  start();
  EXPECT_EQ(faults(), all(Fault::status_5xx));
}

TEST_F(ProberTest, PortThatDoesNotFollowTheRotationIsWrong) {
  options_.rotation.ports = {8080, 8888};
  start();
  run(seconds{120});
  EXPECT_GE(wanted_.size(), 4u);
  EXPECT_EQ(prober_->facts().condition.status, Truth::yes);
  follows_ = false;
  run(seconds{60});
  EXPECT_EQ(faults(), all(Fault::wrong_port));
}

TEST_F(ProberTest, StrangerIsTheWrongBackend) {
  options_.pods = {"canary-1", "canary-2"};
  stand_in_.pod = "shop-1";
  start();
  EXPECT_EQ(faults(), all(Fault::wrong_backend));
}

TEST_F(ProberTest, OldConfigurationIsStale) {
  start();
  prober_->set_configuration({.generation = 1, .digest = "new"});
  EXPECT_EQ(faults(), all(Fault::none));
  prober_->set_configuration({.generation = 2, .digest = "new"});
  EXPECT_EQ(faults(), all(Fault::stale_generation));
  stand_in_.generation = 2;
  EXPECT_EQ(faults(), all(Fault::none));
}

TEST_F(ProberTest, StaleReplicaStaysStaleWhereSettlingIsShorterThanThePeriod) {
  options_.settle = seconds{1};
  start({Protocol::http1_fresh});
  doors_[0].own = false;
  prober_->set_legs(*lay_out(doors_, {}));
  prober_->set_configuration({.generation = 7, .digest = "new"});
  run(seconds{60});
  EXPECT_EQ(prober_->facts().condition.status, Truth::no);
  EXPECT_EQ(prober_->facts().legs[0].state.bad_lately(), 5u);
}

TEST_F(ProberTest, ReplicaThatDoesNotTakeOurConfigurationIsStaleAfterAWhile) {
  options_.settle = seconds{60};
  start();
  doors_[0].own = false;
  prober_->set_legs(*lay_out(doors_, {}));
  prober_->set_configuration({.generation = 7, .digest = "new"});
  run(seconds{50});
  EXPECT_EQ(prober_->facts().condition.status, Truth::yes);
  EXPECT_EQ(faults(), all(Fault::none));
  run(seconds{20});
  EXPECT_EQ(faults(), all(Fault::stale_generation));
  stand_in_.digest = "new";
  EXPECT_EQ(faults(), all(Fault::none));
}

TEST_F(ProberTest, NamesAreLookedUp) {
  start({Protocol::http1_fresh}, "router.example.com");
  EXPECT_EQ(faults(), all(Fault::none, 1));
  EXPECT_TRUE(prober_->facts().legs[0].last->phases[Phase::dns].has_value());
  resolver_.answer = std::unexpected("Name or service not known");
  EXPECT_EQ(faults(), all(Fault::name_resolution, 1));
}

TEST_F(ProberTest, ResolverThatHangsIsAskedOnce) {
  resolver_.mute = true;
  start({Protocol::http1_fresh}, "router.example.com");
  run(seconds{60});
  EXPECT_EQ(faults(), all(Fault::name_resolution, 1));
  EXPECT_EQ(resolver_.questions, 1);
  resolver_.mute = false;
  for (auto& done : resolver_.unanswered) done(resolver_.answer);
  EXPECT_EQ(faults(), all(Fault::none, 1));
}

TEST_F(ProberTest, LackOfDescriptorsIsNoFaultOfTheLeg) {
  prober_reactor_.set_fd_limit(0);
  start();
  EXPECT_EQ(faults(), all(Fault::unable));
  EXPECT_EQ(prober_->facts().condition.status, Truth::unknown);
}

TEST_F(ProberTest, FaultIsKnownWithinFifteenSeconds) {
  start();
  run(seconds{60});
  stand_in_.trick = Trick::silent;
  run(seconds{15});
  for (const LegFacts& leg : prober_->facts().legs) {
    EXPECT_EQ(leg.state.last().fault, Fault::first_byte_timeout) << leg.leg.name();
    EXPECT_GE(leg.state.bad_lately(), 2u) << leg.leg.name();
  }
}

TEST_F(ProberTest, LegsThatStayKeepWhatIsKnownOfThem) {
  start();
  run(seconds{60});
  const std::uint64_t before = prober_->facts().legs[0].state.probes();
  doors_[0].protocols = {Protocol::http1_fresh};
  prober_->set_legs(*lay_out(doors_, {}));
  EXPECT_EQ(prober_->facts().legs.size(), 1u);
  EXPECT_EQ(prober_->facts().legs[0].state.probes(), before);
  EXPECT_EQ(prober_->sockets(), 0u);
}

TEST_F(ProberTest, LegThatHasMadeItsProbesRests) {
  options_.probes_per_leg = 3;
  start();
  run(seconds{120});
  EXPECT_EQ(stand_in_.requests, 13u) << "the new connection of the reused leg is asked twice";
}

// A leg is a socket at most, in good days and bad ones; the long run is EBBGATE_CANARY_PROBES=1000000.
TEST_F(ProberTest, SocketsDoNotGrowHoweverManyProbesAreMade) {
  const char* const wish = std::getenv("EBBGATE_CANARY_PROBES");
  const std::uint64_t probes = wish == nullptr ? 20'000 : std::strtoull(wish, nullptr, 10);
  options_.schedule.every = milliseconds{500};
  options_.rotation.ports = {8080, 8888};
  start();
  constexpr Trick tricks[] = {Trick::none,          Trick::silent,  Trick::none,  Trick::reset,
                              Trick::close_in_body, Trick::garbage, Trick::close, Trick::stall_in_body};
  std::uint64_t ended = 0;
  std::size_t most_ends = 0;
  for (std::size_t turn = 0; ended < probes; ++turn) {
    stand_in_.trick = tricks[turn % std::size(tricks)];
    for (int i = 0; i < 60; ++i) {
      run(seconds{1});
      ASSERT_LE(prober_reactor_.sockets(), 4u);
      ASSERT_LE(network_.ends(), 40u);
      most_ends = std::max(most_ends, network_.ends());
    }
    ended += results_.size();
    results_.clear();
  }
  EXPECT_LE(most_sockets_, 4u);
  EXPECT_EQ(prober_reactor_.opened() - prober_reactor_.closed(), prober_reactor_.sockets());
  RecordProperty("probes", std::to_string(ended));
  RecordProperty("most_ends", std::to_string(most_ends));
}

}  // namespace
}  // namespace ebb::canary
