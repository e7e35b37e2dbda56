#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "builders.h"
#include "census/explain.h"
#include "census/filter.h"
#include "census/json.h"
#include "census/recording.h"
#include "census/screen.h"
#include "census/words.h"
#include "wire/json_reader.h"

namespace ebb::census {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Socket listener(std::string_view local) {
  return {.local = address(local), .peer = address("0.0.0.0:0"), .state = State::listen, .inode = 3};
}

Census small() {
  Socket behind = stalled(5, 11'000, 6400, 1400);
  behind.real_peer = address("10.1.0.5:8443");
  return census_of({established(500), behind, listener("0.0.0.0:80"), with_keepalive(30, 10, 3, 20'000)});
}

std::vector<std::uint32_t> filtered(const Census& census, std::vector<std::string> words) {
  return Filter::parse(words)->select(census);
}

std::string printed(const auto& print_into) {
  std::string out;
  print_into([&out](std::string_view piece) { out += piece; });
  return out;
}

TEST(Words, DurationsAreShort) {
  EXPECT_EQ(duration_text(0), "0ms");
  EXPECT_EQ(duration_text(12'345), "12.3s");
  EXPECT_EQ(duration_text(924'600), "15m24s");
  EXPECT_EQ(duration_text(7'875'000), "2h11m");
  EXPECT_EQ(duration_text(90'000'000), "1d01h");
}

TEST(Words, NamesOfProcessesCannotDriveATerminal) { EXPECT_EQ(harmless("a\x1b[2J"), "a\\x1b[2J"); }

TEST(Filter, AllWordsMustHold) {
  const Census census = small();
  EXPECT_THAT(filtered(census, {}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(filtered(census, {"state=established", "verdict=half-open"}), ElementsAre(1));
  EXPECT_THAT(filtered(census, {"state=listen"}), ElementsAre(2));
  EXPECT_THAT(filtered(census, {"!verdict=listening", "!verdict=idle"}), ElementsAre(0, 1));
  EXPECT_THAT(filtered(census, {"peer=10.1.0.0/16"}), ElementsAre(1));
  EXPECT_THAT(filtered(census, {"peer=10.0.0.2:443"}), ElementsAre(0, 1, 3));
  EXPECT_THAT(filtered(census, {"port=80"}), ElementsAre(2));
  EXPECT_THAT(filtered(census, {"pid=4242", "process=cli", "netns=this", "local=10.0.0.1"}), ElementsAre(0, 1, 3));
  EXPECT_THAT(filtered(census, {"8443"}), ElementsAre(1));
}

TEST(Filter, SaysWhatIsWrongWithAWord) {
  const auto complaint = [](std::string word) { return Filter::parse(std::vector{word}).error(); };
  EXPECT_THAT(complaint("stat=x"), HasSubstr("state, verdict"));
  EXPECT_THAT(complaint("state=gone"), HasSubstr("CLOSE-WAIT"));
  EXPECT_THAT(complaint("verdict="), HasSubstr("half-open suspect"));
  EXPECT_THAT(complaint("peer=host"), HasSubstr("10.1.0.0/16"));
  EXPECT_THAT(complaint("port=http"), HasSubstr("number"));
}

TEST(Gone, TakesAddressesPortsAndRanges) {
  const auto gone = parse_gone("10.1.0.5,10.2.0.0/16,10.3.0.1:80");
  ASSERT_TRUE(gone);
  EXPECT_TRUE(gone->contains(address("10.1.0.5:1")));
  EXPECT_TRUE(gone->contains(address("10.2.9.9:1")));
  EXPECT_TRUE(gone->contains(address("10.3.0.1:80")));
  EXPECT_FALSE(gone->contains(address("10.3.0.1:81")));
  EXPECT_FALSE(parse_gone("10.1.0.5,api"));
}

TEST(Table, HasALineForEachSocket) {
  const Census census = small();
  const auto shown = filtered(census, {});
  const std::string text = printed([&](const Print& print) { print_table(census, shown, print); });
  EXPECT_EQ(std::ranges::count(text, '\n'), 5);
  EXPECT_THAT(text, HasSubstr("10.0.0.2:443>10.1.0.5:8443"));
  EXPECT_THAT(text, HasSubstr("on,1.4s,5"));
  EXPECT_THAT(text, HasSubstr("client/4242 fd 4"));
  EXPECT_EQ(summary(census, shown), "4 sockets: 1 half-open suspect, 1 idle, 1 active, 1 listening");
}

TEST(Table, GroupsTheLargestFirst) {
  const Census census = small();
  const auto groups = [&](GroupBy by) {
    return printed([&](const Print& print) { print_groups(census, filtered(census, {}), by, print); });
  };
  EXPECT_THAT(groups(GroupBy::process), HasSubstr("client/4242"));
  const std::string peers = groups(GroupBy::peer);
  EXPECT_LT(peers.find("10.0.0.2"), peers.find("10.1.0.5"));
  EXPECT_THAT(groups(GroupBy::verdict), HasSubstr("half-open suspect"));
}

TEST(Table, SortsTheWorstFirst) {
  const Census census = small();
  auto shown = filtered(census, {});
  sort(census, SortBy::verdict, shown);
  EXPECT_THAT(shown, ElementsAre(1, 3, 0, 2));
  sort(census, SortBy::ends, shown);
  EXPECT_THAT(shown, ElementsAre(3, 1, 0, 2));
}

TEST(Json, IsOneObjectThatAReaderTakes) {
  const Census census = small();
  const std::string text = printed([&](const Print& print) { print_json(census, filtered(census, {}), print); });
  const auto value = wire::read_json(text);
  ASSERT_TRUE(value) << value.error().why;
  const auto& sockets = value->find("sockets")->items;
  ASSERT_EQ(sockets.size(), 4U);
  EXPECT_EQ(sockets[1].find("verdict")->text, "half-open suspect");
  EXPECT_EQ(sockets[1].find("real_peer")->text, "10.1.0.5:8443");
  EXPECT_EQ(sockets[1].find("gives_up")->find("by")->text, "retransmissions");
  EXPECT_EQ(sockets[0].find("gives_up")->find("in_ms"), nullptr);
  EXPECT_EQ(sockets[3].find("options")->find("keepalive_idle_s")->text, "30");
}

TEST(Recording, GivesBackWhatWasWritten) {
  const Census census = small();
  std::stringstream file;
  const Print to_file = [&file](std::string_view line) { file << line; };
  record(census.sample, to_file);
  record(census.sample, to_file);
  Recording recording(file);
  for (int i = 0; i < 2; ++i) {
    const auto sample = recording.next();
    ASSERT_TRUE(sample) << sample.error();
    ASSERT_TRUE(*sample);
    EXPECT_EQ((*sample)->at, census.sample.at);
    std::stringstream again;
    record(**sample, [&again](std::string_view line) { again << line; });
    EXPECT_EQ(file.str().substr(0, again.str().size()), again.str());
  }
  EXPECT_FALSE(*recording.next());
}

TEST(Recording, RefusesWhatIsNone) {
  const auto complaint = [](const std::string& text) {
    std::stringstream file(text);
    Recording recording(file);
    const auto sample = recording.next();
    return sample ? std::string("accepted") : sample.error();
  };
  const std::string begin = R"({"is":"sample","version":1,"at_us":5})"
                            "\n";
  EXPECT_EQ(complaint(begin), "accepted");
  EXPECT_THAT(complaint("hello"), HasSubstr("line 1"));
  EXPECT_THAT(complaint(R"({"is":"socket"})"), HasSubstr("--record"));
  EXPECT_THAT(complaint(R"({"is":"sample","version":2,"at_us":5})"), HasSubstr("version 1"));
  EXPECT_THAT(complaint(begin + R"({"is":"socket","state":"ESTAB"})"), HasSubstr("line 2: \"timer\""));
  EXPECT_THAT(complaint(begin + R"({"is":"process","pid":-1,"name":"x"})"), HasSubstr("\"pid\""));
  EXPECT_THAT(complaint(begin + "\"" + std::string(20'000, 'x') + "\""), HasSubstr("too long"));
}

// Whatever a number says, it is refused, or judged and explained at once: nothing is counted up to it.
TEST(Recording, NoNumberKeepsItBusy) {
  std::string text;
  record(small().sample, [&text](std::string_view line) { text += line; });
  for (const std::string_view huge : {"4294967295", "18446744073709551615", "255"}) {
    for (std::size_t at = text.find("\":"); at != std::string::npos; at = text.find("\":", at + 2)) {
      const std::size_t digits = at + 2;
      const std::size_t end = text.find_first_not_of("0123456789", digits);
      if (end == digits) continue;
      for (const std::string_view timer : {"on", "persist", "keepalive"}) {
        std::string changed = text.substr(0, digits) + std::string(huge) + text.substr(end);
        for (std::size_t i = 0; (i = changed.find("\"timer\":\"off\"", i)) != std::string::npos; ++i) {
          changed.replace(i, 13, "\"timer\":\"" + std::string(timer) + "\"");
        }
        std::stringstream file(changed);
        auto sample = Recording(file).next();
        if (!sample || !*sample) continue;
        History history;
        history.add(**sample);
        const Census judged = classify_all(std::move(**sample), history, {}, {});
        for (std::uint32_t i = 0; i < judged.size(); ++i) EXPECT_FALSE(explain(judged, i, {}).empty());
      }
    }
  }
}

TEST(Explain, SaysWhyWhatAndWhen) {
  const Census census = small();
  const std::string text = explain(census, 1, {});
  for (const char* part : {"half-open suspect", "To do: ", "descriptor 4 of process 4242 (client)",
                           "the real peer is 10.1.0.5:8443", "TCP_USER_TIMEOUT is not set", "tcp_retries2"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(explain(census, 0, {}), HasSubstr("would try for 924.6 s (tcp_retries2 = 15)"));
  EXPECT_THAT(explain(census, 0, {}), HasSubstr("would never notice"));
}

TEST(Explain, FindsSocketsByWhatNamesThem) {
  const Census census = small();
  EXPECT_THAT(*find_sockets(census, "cookie:2"), ElementsAre(1));
  EXPECT_THAT(*find_sockets(census, "4242/3"), ElementsAre(0));
  EXPECT_THAT(*find_sockets(census, "10.1.0.5:8443"), ElementsAre(1));
  EXPECT_THAT(*find_sockets(census, "10.0.0.2:443"), ElementsAre(0, 1, 3));
  EXPECT_FALSE(find_sockets(census, "this"));
}

TEST(Screen, FitsAndFollowsItsKeys) {
  const Census census = small();
  Screen screen({});
  const auto lines = screen.draw(census, 5, 40);
  EXPECT_EQ(lines.size(), 5U);
  for (const std::string& line : lines) EXPECT_LE(line.size(), 40U);
  EXPECT_THAT(screen.draw(census, 30, 300)[3], HasSubstr("half-open suspect"));
  EXPECT_TRUE(screen.press(Key::end, 0));
  EXPECT_THAT(screen.draw(census, 5, 300)[4], HasSubstr("LISTEN"));
  screen.press(Key::character, 'g');
  EXPECT_THAT(screen.draw(census, 9, 300)[2], HasSubstr("PROCESS"));
  screen.press(Key::character, 'p');
  EXPECT_TRUE(screen.paused());
  EXPECT_FALSE(screen.press(Key::character, 'q'));
}

TEST(Screen, TakesAFilterAndRefusesAWrongOne) {
  const Census census = small();
  Screen screen({});
  const auto type = [&screen](std::string_view text) {
    for (const char c : text) EXPECT_TRUE(screen.press(Key::character, c));
  };
  type("/port=q");
  screen.press(Key::enter, 0);
  EXPECT_THAT(screen.draw(census, 9, 300)[1], HasSubstr("number"));
  screen.press(Key::backspace, 0);
  type("80");
  screen.press(Key::enter, 0);
  EXPECT_THAT(screen.draw(census, 9, 300)[0], HasSubstr("1 sockets: 1 listening"));
}

TEST(History, ConnectionsThatOnlyGrowAreALeak) {
  History history;
  Sample sample = sample_of({established(500)});
  for (int i = 0; i < 6; ++i) {
    sample.at += std::chrono::seconds(2);
    for (int more = 0; more < 2; ++more) {
      sample.sockets.push_back(sample.sockets.back());
      ++sample.sockets.back().cookie;
      sample.sockets.back().local.set_port(static_cast<std::uint16_t>(41'000 + 2 * i + more));
    }
    history.add(sample);
    EXPECT_EQ(history.only_grows(sample, sample.sockets[0]), i >= 3) << i;
  }
  EXPECT_GE(history.age(sample.sockets[0])->ms, 10'000);
}

TEST(History, APoolThatWasFilledIsNoLeak) {
  History history;
  for (const std::size_t count : {1, 5, 9, 10, 10, 10, 10}) {
    const Sample sample = sample_of(std::vector<Socket>(count, established(500)));
    history.add(sample);
  }
  const Sample sample = sample_of(std::vector<Socket>(10, established(500)));
  EXPECT_FALSE(history.only_grows(sample, sample.sockets[0]));
}

TEST(History, OneThatClosesNowAndThenIsNoLeak) {
  History history;
  Sample sample;
  for (const std::size_t count : {1, 5, 9, 8, 12, 16, 20}) {
    sample = sample_of(std::vector<Socket>(count, established(500)));
    history.add(sample);
  }
  EXPECT_FALSE(history.only_grows(sample, sample.sockets[0]));
}

TEST(History, KnowsTheAgeOfWhatNeverSentOrNeverReceived) {
  Socket silent = established(5'000);
  silent.segments_received = 0;
  silent.last_received_ms = 90'000;
  History history;
  EXPECT_EQ(history.age(silent)->ms, 90'000);
  EXPECT_TRUE(history.age(silent)->exact);
  EXPECT_EQ(history.age(established(7'000))->ms, 7'000);
  EXPECT_FALSE(history.age(established(7'000))->exact);
}

}  // namespace
}  // namespace ebb::census
