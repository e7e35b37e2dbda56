#include "observe/event_outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace ebb::observe {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

TEST(LineBudget, AllowsSoManyInASecondAndCountsTheRest) {
  LineBudget budget(3);
  const base::Instant begin{};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(budget.take(begin + milliseconds{i}));
  EXPECT_FALSE(budget.take(begin + milliseconds{3}));
  EXPECT_FALSE(budget.take(begin + milliseconds{999}));
  EXPECT_EQ(budget.left_out(), 2u);
  EXPECT_TRUE(budget.take(begin + milliseconds{1000}));
  EXPECT_EQ(budget.take_left_out(), 2u);
  EXPECT_EQ(budget.left_out(), 0u);
}

class EventOutboxTest : public testing::Test {
 protected:
  EventOutboxTest() { EXPECT_EQ(::pipe(pipe_), 0); }
  ~EventOutboxTest() override { ::close(pipe_[0]); }

  std::string written() {
    ::close(pipe_[1]);
    std::string all;
    char piece[4096];
    for (ssize_t got; (got = ::read(pipe_[0], piece, sizeof(piece))) > 0;)
      all.append(piece, static_cast<std::size_t>(got));
    return all;
  }

  int pipe_[2];
  base::FakeClock clock_;
};

TEST_F(EventOutboxTest, WritesWhatItWasGivenWithTheTimeOfTheEvent) {
  EventLog log(pipe_[1], EventLog::Format::text, clock_);
  {
    EventOutbox outbox(log, clock_);
    outbox.put(EventLog::Level::warning, "endpoint_health", {{"backend", "api"}, {"to", "down"}});
    outbox.put(EventLog::Level::info, "endpoint_ready", {});
  }
  const std::string text = written();
  EXPECT_THAT(text, HasSubstr("level=warning event=endpoint_health backend=api to=down\n"));
  EXPECT_THAT(text, HasSubstr("level=info event=endpoint_ready\n"));
}

TEST_F(EventOutboxTest, SaysHowMuchItLeftOut) {
  EventLog log(pipe_[1], EventLog::Format::text, clock_);
  {
    EventOutbox outbox(log, clock_);
    for (std::uint32_t i = 0; i < EventOutbox::lines_per_second + 7; ++i) outbox.put(EventLog::Level::info, "many", {});
  }
  EXPECT_THAT(written(), HasSubstr("event=events_left_out count=7\n"));
}

}  // namespace
}  // namespace ebb::observe
