#include "lifecycle/exchange.h"

#include <gtest/gtest.h>

#include "lifecycle/attempt.h"
#include "lifecycle/ending.h"
#include "lifecycle/request_half.h"
#include "lifecycle/response_half.h"
#include "lifecycle/stage.h"

namespace ebb::lifecycle {
namespace {

using A = ExchangeAction;
using AttemptState = AttemptLife::State;
using E = ExchangeLife::Event;
using S = ExchangeLife::State;

ExchangeMachine::Actions actions_of(ExchangeMachine& exchange, E event) {
  const ExchangeMachine::Step step = exchange.step(event);
  EXPECT_TRUE(step);
  return step.actions;
}

TEST(ExchangeLife, ARetryThrowsTheAttemptAwayAndRewindsTheRequest) {
  ExchangeMachine exchange;
  ASSERT_TRUE(exchange.step(E::attempt));
  const auto actions = actions_of(exchange, E::retry);
  EXPECT_TRUE(exchange.is(S::choosing));
  EXPECT_TRUE(actions.has(A::drop_attempt));
  EXPECT_TRUE(actions.has(A::rewind));
  EXPECT_TRUE(actions.has(A::disarm));
  EXPECT_FALSE(actions.has(A::bury));
}

TEST(ExchangeLife, NothingIsRepeatedOnceTheResponseHasBegun) {
  for (const S state : {S::answering, S::tunnelling, S::ended}) EXPECT_FALSE(ExchangeMachine::has(state, E::retry));
  ExchangeMachine exchange(S::trying);
  EXPECT_TRUE(actions_of(exchange, E::answered).has(A::forget_request));
}

TEST(ExchangeLife, AHeldRequestLeavesTheQueueHoweverItEnds) {
  ExchangeMachine exchange;
  EXPECT_TRUE(actions_of(exchange, E::hold).has(A::pause_client));
  EXPECT_TRUE(actions_of(exchange, E::end).has(A::leave_queue));
  EXPECT_TRUE(ExchangeMachine::actions(S::held, E::woken).has(A::disarm));
  EXPECT_FALSE(ExchangeMachine::actions(S::held, E::woken).has(A::leave_queue)) << "the queue gave it away";
}

TEST(ExchangeLife, EveryEndDisarmsReleasesAndBuries) {
  for (std::size_t state = 0; state + 1 < ExchangeMachine::states; ++state) {
    const auto actions = ExchangeMachine::actions(static_cast<S>(state), E::end);
    for (const A action : {A::disarm, A::release_memory, A::bury}) EXPECT_TRUE(actions.has(action)) << state;
    EXPECT_EQ(actions.has(A::leave_queue), static_cast<S>(state) == S::held);
  }
}

TEST(RequestHalfLife, TheKernelMovesOnlyTheRestOfARequestThatIsStillArriving) {
  using H = RequestHalfLife;
  RequestHalf half;
  EXPECT_TRUE(half.step(H::Event::pump));
  EXPECT_FALSE(half.step(H::Event::pump));
  EXPECT_FALSE(half.step(H::Event::tunnel));
  EXPECT_TRUE(half.step(H::Event::whole));
  EXPECT_FALSE(half.step(H::Event::whole));
  EXPECT_TRUE(half.step(H::Event::tunnel));
  EXPECT_TRUE(half.step(H::Event::finished));
  EXPECT_TRUE(half.step(H::Event::end));
  EXPECT_TRUE(half.ended());
}

TEST(ResponseHalfLife, AResponseIsWholeOnlyBehindItsHead) {
  using H = ResponseHalfLife;
  EXPECT_FALSE(ResponseHalf::has(H::State::awaited, H::Event::whole));
  EXPECT_FALSE(ResponseHalf::has(H::State::awaited, H::Event::pump));
  EXPECT_FALSE(ResponseHalf::has(H::State::relaying, H::Event::whole)) << "a tunnel has no last byte of its own";
  ResponseHalf half;
  for (const auto event : {H::Event::began, H::Event::pump, H::Event::whole, H::Event::end}) {
    ASSERT_TRUE(half.step(event));
  }
  EXPECT_TRUE(half.ended());
}

TEST(AttemptLife, OnlyAWholeRequestOrAFreshConnectionBecomesATunnel) {
  using Event = AttemptLife::Event;
  EXPECT_TRUE(AttemptMachine::has(AttemptState::connecting, Event::tunnel));
  EXPECT_TRUE(AttemptMachine::has(AttemptState::sent, Event::tunnel));
  EXPECT_FALSE(AttemptMachine::has(AttemptState::chosen, Event::tunnel));
  EXPECT_FALSE(AttemptMachine::has(AttemptState::sending, Event::tunnel));
}

TEST(Stage, FollowsFromTheExchangeAndItsAttempt) {
  EXPECT_EQ(stage(S::choosing, AttemptState::chosen), Stage::choosing);
  EXPECT_EQ(stage(S::held, AttemptState::chosen), Stage::held);
  EXPECT_EQ(stage(S::trying, AttemptState::connecting), Stage::connecting);
  EXPECT_EQ(stage(S::trying, AttemptState::sending), Stage::uploading);
  EXPECT_EQ(stage(S::trying, AttemptState::sent), Stage::awaiting);
  EXPECT_EQ(stage(S::answering, AttemptState::sending), Stage::crossing);
  EXPECT_EQ(stage(S::answering, AttemptState::sent), Stage::downloading);
  EXPECT_EQ(stage(S::tunnelling, AttemptState::relaying), Stage::tunnelling);
  EXPECT_EQ(stage(S::ended, AttemptState::chosen), Stage::ended);
  EXPECT_EQ(name(Stage::crossing), "crossing");
}

// Every combination of what an ending depends on.
template <class Callback>
void for_each_ending(Callback&& callback) {
  for (std::size_t state = 0; state + 1 < ExchangeMachine::states; ++state) {
    for (const ClientSide client : {ClientSide::waits, ClientSide::left, ClientSide::leaves}) {
      for (int bits = 0; bits < 8; ++bits) {
        const EndingFacts facts{static_cast<S>(state), client, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
        callback(facts, ending(facts));
      }
    }
  }
}

TEST(Ending, AClientThatHasLeftIsToldNothingAndItsBackendServesNobodyElse) {
  for_each_ending([](const EndingFacts& facts, const Ending& end) {
    if (facts.client == ClientSide::waits) return;
    EXPECT_EQ(end.backend, ToBackend::cancel);
    EXPECT_EQ(end.client, facts.client == ClientSide::left ? ToClient::nothing : ToClient::cut);
  });
}

TEST(Ending, OnlyAWholeResponseGivesTheConnectionsBack) {
  for_each_ending([](const EndingFacts& facts, const Ending& end) {
    if (end.backend == ToBackend::release || end.client == ToClient::release) {
      EXPECT_TRUE(facts.response_whole);
      EXPECT_EQ(end, (Ending{ToClient::release, ToBackend::release}));
    }
  });
}

TEST(Ending, AResponseThatHasBegunIsNeverFollowedByAnAnswerOfOurOwn) {
  for_each_ending([](const EndingFacts& facts, const Ending& end) {
    if (facts.state != S::answering || facts.client != ClientSide::waits || facts.response_whole) return;
    EXPECT_EQ(end.client, facts.takes_trailers ? ToClient::trailers : ToClient::cut);
  });
}

TEST(Ending, BeforeTheResponseTheClientGetsAnAnswerIfThereIsOne) {
  for_each_ending([](const EndingFacts& facts, const Ending& end) {
    const bool before = facts.state == S::choosing || facts.state == S::held || facts.state == S::trying;
    if (!before || facts.client != ClientSide::waits || facts.response_whole) return;
    EXPECT_EQ(end.client, facts.has_answer ? ToClient::answer : ToClient::cut);
  });
}

TEST(Ending, ATunnelIsClosedOnBothSidesTogether) {
  for_each_ending([](const EndingFacts& facts, const Ending& end) {
    if (facts.client != ClientSide::waits) return;
    EXPECT_EQ(end.client == ToClient::close_tunnel, facts.state == S::tunnelling);
    EXPECT_EQ(end.backend == ToBackend::close_tunnel, facts.state == S::tunnelling);
  });
}

}  // namespace
}  // namespace ebb::lifecycle
