// The checkers are only worth what they catch: each broken relay must be caught, the sound one must not.
#include "sim/checkers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario.h"
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

}  // namespace
}  // namespace ebb::sim
