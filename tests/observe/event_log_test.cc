#include "observe/event_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace ebb::observe {
namespace {

class Events : public testing::Test {
 protected:
  Events() { EXPECT_EQ(pipe(ends_), 0); }
  ~Events() override {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  std::string line() {
    char buffer[16384];
    const ssize_t got = ::read(ends_[0], buffer, sizeof buffer);
    return std::string(buffer, got > 0 ? static_cast<std::size_t>(got) : 0);
  }

  int ends_[2] = {-1, -1};
  base::FakeClock clock_;
};

TEST_F(Events, AreKeysAndValuesInText) {
  EventLog log(ends_[1], EventLog::Format::text, clock_);
  log.info("config_applied", {{"generation", "7"}, {"file", "my routes.yaml"}, {"note", ""}});
  EXPECT_EQ(line(),
            "time=2019-12-20T00:00:00.000000Z level=info event=config_applied generation=7 "
            "file=\"my routes.yaml\" note=\"\"\n");
}

TEST_F(Events, AreOneObjectInJson) {
  EventLog log(ends_[1], EventLog::Format::json, clock_);
  log.error("config_refused", {{"why", "line 3:\n\"x\" is no address"}});
  EXPECT_EQ(line(), R"({"time":"2019-12-20T00:00:00.000000Z","level":"error","event":"config_refused",)"
                    R"("why":"line 3:\u000a\"x\" is no address"})"
                    "\n");
}

TEST_F(Events, CutLongValues) {
  EventLog log(ends_[1], EventLog::Format::text, clock_);
  log.warning("long", {{"value", std::string(5000, 'x')}});
  EXPECT_TRUE(line().ends_with("x...(+904)\n"));
}

TEST_F(Events, ThatAStalledReaderDoesNotTakeAreDroppedAndCounted) {
  EventLog log(ends_[1], EventLog::Format::text, clock_);
  const std::string value(4000, 'x');
  ASSERT_EQ(fcntl(ends_[1], F_SETPIPE_SZ, 4096), 4096);
  for (int i = 0; i < 4; ++i) log.info("long", {{"value", value}});  // one is taken, and a begin of the next
  std::string text;
  while (text.find("events_dropped") == std::string::npos) {
    text += line();
    log.info("next", {});
  }
  EXPECT_NE(text.find("event=events_dropped count=3\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("xtime="), std::string::npos) << "the torn line was not ended";
}

}  // namespace
}  // namespace ebb::observe
