#include "lifecycle/machine.h"

#include <gtest/gtest.h>

#include <set>

#include "base/rng.h"
#include "lifecycle/attempt.h"
#include "lifecycle/backend_connection.h"
#include "lifecycle/backend_stream.h"
#include "lifecycle/client_connection.h"
#include "lifecycle/client_stream.h"
#include "lifecycle/exchange.h"
#include "lifecycle/flow.h"
#include "lifecycle/request_half.h"
#include "lifecycle/response_half.h"

namespace ebb::lifecycle {
namespace {

template <class Definition>
class MachineTest : public testing::Test {};

using Machines = testing::Types<ClientConnectionLife, BackendConnectionLife, ClientStreamLife, BackendStreamLife,
                                ExchangeLife, RequestHalfLife, ResponseHalfLife, AttemptLife, FlowLife>;
TYPED_TEST_SUITE(MachineTest, Machines);

TYPED_TEST(MachineTest, EachPairEitherMovesToItsRowOrLeavesTheStateAlone) {
  using Life = Machine<TypeParam>;
  for (std::size_t state = 0; state < Life::states; ++state) {
    for (std::size_t event = 0; event < Life::events; ++event) {
      const auto from = static_cast<typename TypeParam::State>(state);
      const auto on = static_cast<typename TypeParam::Event>(event);
      Life machine(from);
      const auto step = machine.step(on);
      const bool moved = step.known;
      EXPECT_EQ(moved, Life::has(from, on));
      EXPECT_EQ(step.actions, moved ? Life::actions(from, on) : typename Life::Actions());
      EXPECT_EQ(machine.state(), moved ? Life::target(from, on) : from);
    }
  }
}

TYPED_TEST(MachineTest, EveryStateIsReachableFromTheStart) {
  using Life = Machine<TypeParam>;
  std::set<std::size_t> reached = {static_cast<std::size_t>(TypeParam::first)};
  for (std::size_t round = 0; round < Life::states; ++round) {
    for (const auto& row : TypeParam::rows) {
      if (reached.contains(static_cast<std::size_t>(row.from))) reached.insert(static_cast<std::size_t>(row.to));
    }
  }
  EXPECT_EQ(reached.size(), Life::states);
}

TYPED_TEST(MachineTest, RandomEventsNeverLeaveTheTerminalState) {
  using Life = Machine<TypeParam>;
  base::Rng rng(7);
  for (int run = 0; run < 1000; ++run) {
    Life machine;
    bool ended = false;
    for (int i = 0; i < 100; ++i) {
      (void)machine.step(static_cast<typename TypeParam::Event>(rng.below(Life::events)));
      if (ended) {
        ASSERT_TRUE(machine.ended());
      }
      ended = machine.ended();
    }
  }
}

// What ends a life whatever its state is.
template <class Life>
constexpr typename Life::Event last_event() {
  if constexpr (requires { Life::Event::end; }) {
    return Life::Event::end;
  } else if constexpr (requires { Life::Event::deadline; }) {
    return Life::Event::deadline;
  } else {
    return Life::Event::ended;
  }
}

TYPED_TEST(MachineTest, EveryLiveStateCanEnd) {
  using Life = Machine<TypeParam>;
  for (std::size_t state = 0; state < Life::states; ++state) {
    Life machine(static_cast<typename TypeParam::State>(state));
    for (int i = 0; i < 3 && !machine.ended(); ++i) ASSERT_TRUE(machine.step(last_event<TypeParam>()));
    EXPECT_TRUE(machine.ended());
  }
}

}  // namespace
}  // namespace ebb::lifecycle
