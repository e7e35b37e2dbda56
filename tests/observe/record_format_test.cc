#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "observe/access_log.h"
#include "observe/text_escape.h"

namespace ebb::observe {
namespace {

using testing::HasSubstr;

class RecordFormat : public testing::Test {
 protected:
  RecordFormat() {
    record_.client = *base::Address::parse("192.0.2.7:4711");
    record_.method = "GET";
    record_.authority = "shop.example.com";
    record_.target = "/cart?item=1";
    record_.protocol = "HTTP/1.1";
    record_.tls = "TLSv1.3";
    record_.referer = "https://example.com/";
    record_.user_agent = "curl/8.0";
    record_.listener = labels_.intern("public");
    record_.route = labels_.intern("shop");
    record_.backend = labels_.intern("carts");
    record_.endpoint = labels_.intern("carts-1");
    record_.endpoint_address = *base::Address::parse("[2001:db8::5]:8080");
    record_.status = 200;
    record_.tries = 1;
    record_.reused = true;
    record_.bytes_sent = 2326;
    // 2000-10-10 13:55:36.000123 UTC
    record_.started = base::WallTime{std::chrono::seconds{971186136} + std::chrono::microseconds{123}};
    record_.until_backend = std::chrono::microseconds{42};
    record_.until_response = std::chrono::microseconds{1500};
    record_.total = std::chrono::microseconds{12345};
  }

  const std::string& format(LogFormat format) {
    format_record(record_, format, labels_, line_);
    return line_;
  }

  base::Labels labels_;
  ExchangeRecord record_;
  std::string line_;
};

TEST_F(RecordFormat, JsonHasEveryKeyInAFixedOrder) {
  EXPECT_EQ(format(LogFormat::json),
            R"({"time":"2000-10-10T13:55:36.000123Z","client":"192.0.2.7:4711","listener":"public","method":"GET",)"
            R"("authority":"shop.example.com","target":"/cart?item=1","protocol":"HTTP/1.1","tls":"TLSv1.3",)"
            R"("status":200,"cause":"completed","fault":"none","route":"shop","backend":"carts",)"
            R"("endpoint":"carts-1","endpoint_address":"[2001:db8::5]:8080","tries":1,"reused":true,)"
            R"("bytes_received":0,"bytes_sent":2326,"until_backend_ms":0.042,"until_response_ms":1.500,)"
            R"("total_ms":12.345,"referer":"https://example.com/","user_agent":"curl/8.0"})"
            "\n");
}

TEST_F(RecordFormat, JsonKeepsItsKeysWhenNothingIsKnown) {
  record_ = ExchangeRecord{};
  record_.cause = base::Cause::client_head_timeout;
  EXPECT_EQ(format(LogFormat::json),
            R"({"time":"1970-01-01T00:00:00.000000Z","client":"","listener":"","method":"","authority":"","target":"",)"
            R"("protocol":"","tls":"","status":0,"cause":"client_head_timeout","fault":"client","route":"",)"
            R"("backend":"","endpoint":"","endpoint_address":"","tries":0,"reused":false,"bytes_received":0,)"
            R"("bytes_sent":0,"until_backend_ms":null,"until_response_ms":null,"total_ms":0.000,"referer":"",)"
            R"("user_agent":""})"
            "\n");
}

// Time stands still within one round of a worker's loop, and a pooled connection is found in the same round.
TEST_F(RecordFormat, NoTimeUntilABackendIsNotTheSameAsNoBackend) {
  record_.until_backend = {};
  EXPECT_THAT(format(LogFormat::json), HasSubstr(R"("until_backend_ms":0.000,)"));
  record_.endpoint_address = {};
  EXPECT_THAT(format(LogFormat::json), HasSubstr(R"("until_backend_ms":null,)"));
}

TEST_F(RecordFormat, CommonIsApachesCombined) {
  EXPECT_EQ(format(LogFormat::common),
            R"(192.0.2.7 - - [10/Oct/2000:13:55:36 +0000] "GET /cart?item=1 HTTP/1.1" 200 2326 )"
            R"("https://example.com/" "curl/8.0")"
            "\n");
}

TEST_F(RecordFormat, CommonWritesDashesForWhatIsMissing) {
  record_ = ExchangeRecord{};
  EXPECT_EQ(format(LogFormat::common), "- - - [01/Jan/1970:00:00:00 +0000] \"-\" 000 - \"-\" \"-\"\n");
}

TEST_F(RecordFormat, OffIsEmpty) { EXPECT_EQ(format(LogFormat::off), ""); }

TEST_F(RecordFormat, NoByteOfAClientBreaksTheLine) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text = std::string("a") + static_cast<char>(byte) + "z";
    record_.user_agent = text;
    for (const LogFormat each : {LogFormat::json, LogFormat::common}) {
      const std::string& line = format(each);
      EXPECT_EQ(line.find('\n'), line.size() - 1) << byte;
      EXPECT_TRUE(std::ranges::all_of(line.substr(0, line.size() - 1), [](char c) { return c >= 0x20 && c < 0x7f; }))
          << byte;
    }
  }
}

TEST_F(RecordFormat, LongFieldsAreCutWithAMark) {
  const std::string target = "/" + std::string(5000, 'x');
  record_.target = target;
  EXPECT_THAT(format(LogFormat::json), HasSubstr("x...(+2953)\""));
  EXPECT_LT(line_.size(), 3000u);
}

TEST_F(RecordFormat, TheLongestLineIsBounded) {
  const std::string hostile(100000, '\xff');
  record_.method = record_.authority = record_.target = record_.protocol = hostile;
  record_.tls = record_.referer = record_.user_agent = hostile;
  EXPECT_LT(format(LogFormat::json).size(), 32768u);
  EXPECT_LT(format(LogFormat::common).size(), 32768u);
}

TEST_F(RecordFormat, AReusedLineKeepsItsMemory) {
  format(LogFormat::json);
  const char* const memory = line_.data();
  for (int i = 0; i < 100; ++i) format(LogFormat::json);
  EXPECT_EQ(line_.data(), memory);
}

std::string json(std::string_view text) {
  std::string out;
  append_json_escaped(out, text);
  return out;
}

TEST(JsonEscape, KeepsGoodUtf8AndMarksTheRest) {
  EXPECT_EQ(json("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(json("\xf0\x9f\x99\x82"), "\xf0\x9f\x99\x82");
  EXPECT_EQ(json("\"\\\n\x7f"), R"(\"\\\u000a\u007f)");
  EXPECT_EQ(json("\xc2\x9b[2J"), R"(\u009b[2J)");
}

TEST(JsonEscape, RefusesOverlongSurrogateTooHighAndCutSequences) {
  EXPECT_EQ(json("\xc0\xaf"), R"(\\xc0\\xaf)");
  EXPECT_EQ(json("\xe0\x80\xaf"), R"(\\xe0\\x80\\xaf)");
  EXPECT_EQ(json("\xed\xa0\x80"), R"(\\xed\\xa0\\x80)");
  EXPECT_EQ(json("\xf4\x90\x80\x80"), R"(\\xf4\\x90\\x80\\x80)");
  EXPECT_EQ(json("a\xe2\x82"), R"(a\\xe2\\x82)");
}

TEST(Cut, DoesNotSplitACharacter) {
  std::string out;
  append_cut(out,
             "ab\xc3\xbc"
             "cd",
             3, append_json_escaped);
  EXPECT_EQ(out, "ab...(+4)");
}

}  // namespace
}  // namespace ebb::observe
