#include "config/values.h"

#include <gtest/gtest.h>

namespace ebb::config {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const Surroundings nowhere;

TEST(Durations, AreWholeNumbersWithAUnit) {
  EXPECT_EQ(DurationFormat::parse("500ms", nowhere), milliseconds{500});
  EXPECT_EQ(DurationFormat::parse("5s", nowhere), seconds{5});
  EXPECT_EQ(DurationFormat::parse("1m", nowhere), minutes{1});
  EXPECT_EQ(DurationFormat::parse("1h", nowhere), hours{1});
  EXPECT_EQ(DurationFormat::parse("0s", nowhere), seconds{0});
  for (const char* text : {"", "s", "5", "-5s", "+5s", "5 s", "1.5s", "5S", "5sec", "1m30s", "5s ", "0x5s",
                           "99999999999999999999s", "9223372036854775807h"}) {
    EXPECT_FALSE(DurationFormat::parse(text, nowhere)) << text;
  }
}

TEST(Durations, AreShownInTheirLargestUnit) {
  EXPECT_EQ(DurationFormat::show(milliseconds{1500}), "1500ms");
  EXPECT_EQ(DurationFormat::show(seconds{60}), "1m");
  EXPECT_EQ(DurationFormat::show(hours{24}), "24h");
  for (const auto value : {milliseconds{1}, milliseconds{999}, milliseconds{30'000}, milliseconds{3'600'000}}) {
    EXPECT_EQ(DurationFormat::parse(DurationFormat::show(value), nowhere), value);
  }
}

TEST(Sizes, AreBytesOrBinaryUnits) {
  EXPECT_EQ(parse_size("0", 100), 0u);
  EXPECT_EQ(parse_size("100", 100), 100u);
  EXPECT_EQ(parse_size("16KiB", UINT32_MAX), 16384u);
  EXPECT_EQ(parse_size("1MiB", UINT32_MAX), 1u << 20);
  EXPECT_EQ(parse_size("5GiB", UINT64_MAX), std::uint64_t{5} << 30);
  for (const char* text : {"", "KiB", "16KB", "16k", "16 KiB", "-1", "1.5MiB", "4GiB", "18446744073709551615GiB"}) {
    EXPECT_FALSE(parse_size(text, UINT32_MAX)) << text;
  }
}

TEST(Sizes, AreShownInTheirLargestUnit) {
  EXPECT_EQ(show_size(0), "0");
  EXPECT_EQ(show_size(1000), "1000");
  EXPECT_EQ(show_size(16384), "16KiB");
  EXPECT_EQ(show_size(std::uint64_t{3} << 20), "3MiB");
}

TEST(Workers, AreAutoOrACountAboveZero) {
  EXPECT_EQ(WorkersFormat::parse("auto", nowhere), 0u);
  EXPECT_EQ(WorkersFormat::parse("8", nowhere), 8u);
  for (const char* text : {"0", "-1", "1025", "two", "AUTO", ""}) {
    EXPECT_FALSE(WorkersFormat::parse(text, nowhere)) << text;
  }
}

TEST(Bind, IsNumericAndKnowsAnyAddress) {
  EXPECT_EQ(BindFormat::parse("127.0.0.1:80", nowhere)->text(), "127.0.0.1:80");
  EXPECT_EQ(BindFormat::parse("[::1]:80", nowhere)->text(), "[::1]:80");
  EXPECT_EQ(BindFormat::parse("*:80", nowhere)->text(), "0.0.0.0:80");
  EXPECT_EQ(BindFormat::parse(":80", nowhere)->text(), "0.0.0.0:80");
  for (const char* text :
       {"", "80", "localhost:80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "*", "::1:80", "*:*"}) {
    EXPECT_FALSE(BindFormat::parse(text, nowhere)) << text;
  }
}

TEST(EndpointAddress, ResolvesNamesButNotNonsense) {
  std::string asked;
  const Surroundings surroundings{"", [&asked](const std::string& host, std::uint16_t) {
                                    asked = host;
                                    return std::expected<base::Address, std::string>(std::unexpected("no"));
                                  }};
  EXPECT_TRUE(EndpointAddressFormat::parse("10.0.0.1:80", surroundings));
  EXPECT_TRUE(EndpointAddressFormat::parse("[fd00::1]:80", surroundings));
  for (const char* text : {"", ":80", "name", "name:", "name:http", "::1:80", "[::1:80", "http://name:80", "a b:80"}) {
    EXPECT_FALSE(EndpointAddressFormat::parse(text, surroundings)) << text;
  }
  EXPECT_EQ(asked, "");
  EXPECT_FALSE(EndpointAddressFormat::parse("name:80", surroundings));
  EXPECT_EQ(asked, "name");
}

TEST(Files, AreRelativeToTheFolder) {
  const Surroundings surroundings{"/etc/gate", resolve_by_system};
  EXPECT_EQ(FileFormat::parse("a.pem", surroundings), "/etc/gate/a.pem");
  EXPECT_EQ(FileFormat::parse("../a.pem", surroundings), "/etc/a.pem");
  EXPECT_EQ(FileFormat::parse("/a.pem", surroundings), "/a.pem");
  EXPECT_EQ(OutputFormat::parse("-", surroundings), "-");
  EXPECT_FALSE(FileFormat::parse("", surroundings));
}

TEST(Suggest, FindsTheNearestWord) {
  const std::string_view known[] = {"listeners", "routes", "io"};
  EXPECT_EQ(edit_distance("rotues", "routes"), 1u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("Routes", "routes"), 0u);
  EXPECT_EQ(suggest("listners", known), "did you mean `listeners`?");
  EXPECT_EQ(suggest("Routes", known), "did you mean `routes`?");
  EXPECT_EQ(suggest("xx", known), "known are `listeners`, `routes`, `io`");
  EXPECT_EQ(suggest(std::string(100'000, 'r'), known), "known are `listeners`, `routes`, `io`");
}

}  // namespace
}  // namespace ebb::config
