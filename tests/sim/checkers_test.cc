// The checkers are only worth what they catch: each broken relay and each broken gate must be caught, sound ones must
// not.
#include "sim/checkers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario.h"
#include "tests/sim/broken_gate.h"
#include "tests/sim/relay.h"

namespace ebb::sim {
namespace {

constexpr std::uint64_t seeds = 20;

// The failure of the first seed that has one; "" if none has.
std::string first_failure(Fault fault, const Climate& climate) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Scenario scenario(seed, climate, {.workers = 1, .backends = 1, .endpoints = 1, .clients = 8}, make_relay(fault));
    if (!scenario.run()) return scenario.world().failure();
  }
  return "";
}

constexpr Climate sunshine{.relay_only = true};
constexpr Climate stormy{.nasty_links = true, .strikes = true, .relay_only = true};

struct Case {
  Fault fault;
  Climate climate;
  const char* caught_as;  // empty: by one or another, as it falls out
};

class Checkers : public testing::TestWithParam<Case> {};

TEST_P(Checkers, CatchABrokenRelay) {
  const std::string failure = first_failure(GetParam().fault, GetParam().climate);
  EXPECT_NE(failure, "");
  EXPECT_THAT(failure, testing::HasSubstr(GetParam().caught_as));
}

INSTANTIATE_TEST_SUITE_P(
    EachFault, Checkers,
    testing::Values(Case{Fault::drops_a_byte, sunshine, ""}, Case{Fault::doubles_a_byte, sunshine, ""},
                    Case{Fault::closes_twice, sunshine, "contract: close"},
                    Case{Fault::leaks_a_socket, sunshine, "each socket is one connection's"},
                    Case{Fault::leaks_a_block, sunshine, "no block is left"},
                    Case{Fault::forgets_to_adopt, sunshine, "neither adopted nor closed"},
                    Case{Fault::ends_a_cut_answer_cleanly, stormy, "truncated answer was delivered as complete"},
                    Case{Fault::sends_after_finish, sunshine, "contract: send after finish"},
                    Case{Fault::executes_twice, sunshine, ""}, Case{Fault::mixes_up_clients, sunshine, ""},
                    Case{Fault::never_answers, sunshine, ""},
                    Case{Fault::pumps_while_receiving, sunshine, "contract: pump from"},
                    Case{Fault::keeps_a_timer, sunshine, "no timer is left armed"}));

TEST(Checkers, LetASoundRelayPass) {
  EXPECT_EQ(first_failure(Fault::none, sunshine), "");
  EXPECT_EQ(first_failure(Fault::none, Climate{.nasty_links = true, .relay_only = true}), "");
}

struct FlawCase {
  Flaw flaw;
  const char* scene;
  const char* caught_as;
};

// The failure of the first seed that has one; "" if none has.
std::string first_failure(Flaw flaw, const char* scene) {
  for (std::uint64_t seed = 1; seed <= 5 * seeds; ++seed) {  // of which few draw a cookie, or a limit that is felt
    Scenario scenario(seed, *find_scene(scene), scene_time, make_broken_gate(flaw));
    if (!scenario.run()) return scenario.world().failure();
  }
  return "";
}

class GateCheckers : public testing::TestWithParam<FlawCase> {};

TEST_P(GateCheckers, CatchABrokenGate) {
  EXPECT_THAT(first_failure(GetParam().flaw, GetParam().scene), testing::HasSubstr(GetParam().caught_as));
}

INSTANTIATE_TEST_SUITE_P(
    EachFlaw, GateCheckers,
    testing::Values(FlawCase{Flaw::hears_of_no_change, "churn", "reached an endpoint that had left"},
                    FlawCase{Flaw::says_drained_at_once, "churn", "drained was said while exchange"},
                    FlawCase{Flaw::never_says_drained, "churn", "a drain went on beyond its deadline"},
                    FlawCase{Flaw::passes_its_cookie_on, "churn", "a backend saw the router's cookie"},
                    FlawCase{Flaw::forgets_who_was_bound, "churn", "moved away from an endpoint that is well"},
                    FlawCase{Flaw::hoards_idle_connections, "growing", "no more connections are idle than may be"},
                    FlawCase{Flaw::indulges_leaky_clients, "leaky client", "a leaky client holds"},
                    FlawCase{Flaw::uses_what_it_calls_dead, "growing", "shunned"},
                    FlawCase{Flaw::tries_once, "kill", "lost without a reason"},
                    FlawCase{Flaw::gives_up_soon, "gray", "lost without a reason"},
                    FlawCase{Flaw::refuses_without_a_cause, "gray", "was refused without a cause"},
                    FlawCase{Flaw::closes_without_a_cause, "growing", "each client connection ends with a cause"},
                    FlawCase{Flaw::blames_itself, "growing", "nothing ends because of a bug"},
                    FlawCase{Flaw::leaves_one_waiting, "growing", "nobody waits in a queue"},
                    FlawCase{Flaw::keeps_an_endpoint, "growing", "only the listed endpoints are left"},
                    FlawCase{Flaw::doubts_alone, "growing", "workers disagree about the health"},
                    FlawCase{Flaw::takes_slow_for_dead, "slow POSTs", "lost without a reason"},
                    FlawCase{Flaw::takes_slow_for_dead, "long polls", "lost without a reason"},
                    FlawCase{Flaw::takes_slow_for_dead, "serial", "lost without a reason"},
                    FlawCase{Flaw::cuts_quiet_streams, "quiet streams", "lost without a reason"},
                    FlawCase{Flaw::cuts_by_silence, "quiet streams", "ended by silence alone"}));

TEST(GateCheckers, LetASoundGatePass) { EXPECT_EQ(first_failure(Flaw::none, "churn"), ""); }

}  // namespace
}  // namespace ebb::sim
