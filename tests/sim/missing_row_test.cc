// A machine that meets an event without a row for it harms one connection or exchange (docs/decisions/0001). Nothing is
// known to bring one there, so the test does: it steps a machine of a worker at work, with each event that has no row.
#include <gtest/gtest.h>

#include <vector>

#include "tests/sim/small_world.h"

namespace ebb::gate {

struct MissingRow {
  enum class Of : std::uint8_t { client, backend, exchange, request, response, attempt };

  // Of the first that is busy. False: its state has a row for the event.
  static bool meet(Worker& worker, Of of, std::size_t event) {
    switch (of) {
      case Of::client:
        return meet(worker.clients_, lifecycle::ClientConnectionLife::State::serving,
                    static_cast<lifecycle::ClientConnectionLife::Event>(event));
      case Of::backend:
        return meet(worker.backends_, lifecycle::BackendConnectionLife::State::leased,
                    static_cast<lifecycle::BackendConnectionLife::Event>(event));
      case Of::exchange:
        return meet(worker.exchanges_, lifecycle::ExchangeLife::State::trying,
                    static_cast<lifecycle::ExchangeLife::Event>(event));
      case Of::request: return meet_part(worker, event, [](Exchange& one) -> auto& { return one.request.life; });
      case Of::response: return meet_part(worker, event, [](Exchange& one) -> auto& { return one.response.life; });
      case Of::attempt: return meet_part(worker, event, [](Exchange& one) -> auto& { return one.attempt->life; });
    }
    return false;
  }
  static std::size_t events(Of of) {
    switch (of) {
      case Of::client: return lifecycle::ClientConnectionMachine::events;
      case Of::backend: return lifecycle::BackendConnectionMachine::events;
      case Of::exchange: return lifecycle::ExchangeMachine::events;
      case Of::request: return lifecycle::RequestHalf::events;
      case Of::response: return lifecycle::ResponseHalf::events;
      case Of::attempt: return lifecycle::AttemptMachine::events;
    }
    return 0;
  }

 private:
  // A half, or the attempt, of the first exchange that waits for its answer.
  template <class PartOf>
  static bool meet_part(Worker& worker, std::size_t number, PartOf&& part_of) {
    bool met = false;
    bool found = false;
    worker.exchanges_.for_each([&](base::Handle, Exchange& exchange) {
      if (found || !exchange.waits_for_answer()) return;
      found = true;
      auto& part = part_of(exchange);
      using Machine = std::remove_cvref_t<decltype(part)>;
      const auto event = static_cast<typename Machine::Event>(number);
      met = !part.has(part.state(), event);
      if (met) worker.exchanges_.step(exchange, part, event);
    });
    EXPECT_TRUE(found);
    return met;
  }
  template <class Owner, class State, class Event>
  static bool meet(Owner& owner, State state, Event event) {
    bool met = false;
    bool found = false;
    owner.for_each([&](base::Handle, auto& one) {
      if (found || !one.life.is(state)) return;
      found = true;
      met = !one.life.has(state, event);
      if (met) owner.step(one, event);
    });
    EXPECT_TRUE(found);
    return met;
  }
};

}  // namespace ebb::gate

namespace ebb::sim {
namespace {

using base::Cause;
using base::Side;
using gate::MissingRow;

class MissingRowOf : public testing::TestWithParam<MissingRow::Of> {};

std::uint64_t closed(const observe::Counters& counters, Side side) {
  return counters.closed[static_cast<std::size_t>(side)][static_cast<std::size_t>(Cause::internal)];
}

std::uint64_t recorded(const observe::Counters& counters) {
  std::uint64_t count = 0;
  for (const auto& [key, number] : counters.requests) count += key.cause == Cause::internal ? number : 0;
  return count;
}

// One exchange is half done when the event comes; a neighbour's is as well, and others follow on its connection.
void meet_one(MissingRow::Of of, std::size_t event, std::size_t& met) {
  SmallWorld small({}, 1);
  const Exchange slow{.method = "POST", .idempotent = false, .plan = {.bytes = 100, .think = milliseconds{500}}};
  small.ask(milliseconds{10}, {slow});
  small.ask(milliseconds{20}, std::vector<Exchange>(5, slow));
  bool has_no_row = false;
  small.at(milliseconds{300}, [&] {
    small.place().reactor->post([&] { has_no_row = MissingRow::meet(*small.place().inhabitant->worker(), of, event); });
    small.ledger.excuse(small.ledger.all().front().id, "a machine without a row");
  });
  bool over = false;
  small.at(seconds{10}, [&over] { over = true; });
  while (!over && !small.world.failed()) small.world.step();  // the checker would stop at what is meant to happen
  EXPECT_EQ(small.world.failure(), "");
  if (!has_no_row) return;
  met += 1;

  const observe::Counters counters = small.place().inhabitant->collect();
  EXPECT_EQ(counters.missing_transitions, 1u);
  EXPECT_EQ(counters.lost_handles, 0u);
  EXPECT_EQ(recorded(counters), 1u);
  EXPECT_EQ(closed(counters, Side::client), of == MissingRow::Of::backend ? 0u : 1u);
  EXPECT_EQ(closed(counters, Side::backend), 1u) << "an answer was on its way: nobody else may use it";
  EXPECT_EQ(small.ledger.count(Outcome::answered), 5u) << "the neighbour's";
  EXPECT_NE(small.ledger.all().front().outcome, Outcome::answered);
  EXPECT_NE(small.ledger.all().front().outcome, Outcome::pending);
  const gate::Audit audit = small.place().inhabitant->audit();
  EXPECT_EQ(audit.without_deadline, 0u);
  EXPECT_EQ(audit.flaws, 0u);
  EXPECT_EQ(audit.exchanges, 0u);
}

TEST_P(MissingRowOf, EndsThatOneAsInternalAndHarmsNoOther) {
  std::size_t met = 0;
  for (std::size_t event = 0; event < MissingRow::events(GetParam()); ++event) {
    SCOPED_TRACE(event);
    meet_one(GetParam(), event, met);
  }
  EXPECT_GT(met, 0u);
}

std::string name_of(const testing::TestParamInfo<MissingRow::Of>& of) {
  constexpr const char* names[] = {"client", "backend", "exchange", "request", "response", "attempt"};
  return names[static_cast<std::size_t>(of.param)];
}

INSTANTIATE_TEST_SUITE_P(EachKind, MissingRowOf,
                         testing::Values(MissingRow::Of::client, MissingRow::Of::backend, MissingRow::Of::exchange,
                                         MissingRow::Of::request, MissingRow::Of::response, MissingRow::Of::attempt),
                         name_of);

}  // namespace
}  // namespace ebb::sim
