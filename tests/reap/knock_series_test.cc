#include "reap/knock_series.h"

#include <gtest/gtest.h>

#include <vector>

namespace ebb::reap {
namespace {

using namespace std::chrono_literals;
using enum KnockResult;
using Outcomes = std::vector<std::optional<KnockResult>>;

constexpr std::nullopt_t nothing = std::nullopt;

TEST(KnockSeries, OutcomesTogether) {
  struct Case {
    const char* what;
    Outcomes outcomes;
    bool time_is_over;
    std::optional<KnockResult> result;
  };
  const Case cases[] = {
      {"one lost packet is no proof", {nothing}, false, nothing},
      {"two neither", {nothing, nothing}, true, nothing},
      {"the third may still be answered", {nothing, nothing, nothing}, false, nothing},
      {"three are", {nothing, nothing, nothing}, true, failed},
      {"an answer to the first", {answered}, false, answered},
      {"an answer to any", {nothing, nothing, answered}, true, answered},
      {"no neighbour has the address", {failed, failed, failed}, false, failed},
      {"some told, some not", {failed, nothing, nothing}, false, nothing},
      {"some told, some not, in the end", {failed, nothing, nothing}, true, failed},
      {"two lost and one never sent", {nothing, inconclusive, nothing}, true, inconclusive},
      {"none sent", {inconclusive, inconclusive, inconclusive}, false, inconclusive},
      {"an answer though one was not sent", {inconclusive, nothing, answered}, false, answered},
  };
  for (const Case& each : cases) {
    base::FakeClock clock;
    KnockSeries series(clock.now(), {});
    for (std::size_t i = 0; i < each.outcomes.size(); ++i) {
      clock.set(series.due());
      EXPECT_TRUE(series.take_attempt(clock.now()));
    }
    if (each.time_is_over) clock.set(series.due());
    EXPECT_EQ(series.judge(clock.now(), each.outcomes), each.result) << each.what;
  }
}

TEST(KnockSeries, PacketsAreSpreadAndTheLastHasItsTime) {
  base::FakeClock clock;
  KnockSeries series(clock.now(), {.patience = 300ms});
  EXPECT_TRUE(series.take_attempt(clock.now()));
  EXPECT_FALSE(series.take_attempt(clock.now()));
  clock.advance(KnockTimes::apart + 70ms);  // late
  EXPECT_TRUE(series.take_attempt(clock.now()));
  clock.advance(KnockTimes::apart - 1ms);
  EXPECT_FALSE(series.take_attempt(clock.now())) << "no earlier for that";
  clock.advance(1ms);
  EXPECT_TRUE(series.take_attempt(clock.now()));
  EXPECT_EQ(series.due(), clock.now() + 300ms);
  clock.advance(300ms);
  EXPECT_FALSE(series.take_attempt(clock.now())) << "three are enough";
  EXPECT_EQ(series.judge(clock.now(), Outcomes(3)), failed);
}

TEST(KnockSeries, PatienceFollowsTheWayWithinBounds) {
  EXPECT_EQ(KnockTimes::patience_for(1ms), 200ms);
  EXPECT_EQ(KnockTimes::patience_for(450ms), 450ms);
  EXPECT_EQ(KnockTimes::patience_for(20s), 1s);
}

}  // namespace
}  // namespace ebb::reap
