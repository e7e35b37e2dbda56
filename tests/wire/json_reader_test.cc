#include "wire/json_reader.h"

#include <gtest/gtest.h>

namespace ebb::wire {
namespace {

std::string why(std::string_view text, const JsonLimits& limits = {}) {
  const auto value = read_json(text, limits);
  return value ? "read" : value.error().why;
}

TEST(JsonReader, ReadsAnObject) {
  const auto value = read_json(R"( {"endpoint": "10.0.0.1:80", "list": [1, -2.5e3, true, null], "empty": {}} )");
  ASSERT_TRUE(value);
  ASSERT_NE(value->find("endpoint"), nullptr);
  EXPECT_EQ(value->find("endpoint")->text, "10.0.0.1:80");
  const JsonValue& list = *value->find("list");
  ASSERT_EQ(list.items.size(), 4u);
  EXPECT_EQ(list.items[1].text, "-2.5e3");
  EXPECT_TRUE(list.items[2].truth);
  EXPECT_EQ(list.items[3].kind, JsonValue::Kind::null);
  EXPECT_EQ(value->find("empty")->kind, JsonValue::Kind::object);
  EXPECT_EQ(value->find("none"), nullptr);
}

TEST(JsonReader, ReadsEscapes) {
  EXPECT_EQ(read_json(R"("\"\\\/\b\f\n\r\t")")->text, "\"\\/\b\f\n\r\t");
  EXPECT_EQ(read_json(R"("\u0041\u00e9\u20ac\ud83d\uDE00")")->text, "Aé€😀");
  EXPECT_EQ(read_json("\"é€😀\"")->text, "é€😀");
}

TEST(JsonReader, RefusesWhatIsNotJson) {
  for (const std::string_view text :
       {"",      " ",       "{",           "[",   "\"",      "{\"a\"}", "{\"a\":}", "{a:1}",   "[1,]", "{\"a\":1,}",
        "01",    "+1",      "1.",          ".5",  "1e",      "-",       "tru",      "nul",     "'a'",  "[1 2]",
        "{} {}", "\"\\x\"", "\"\\u12g4\"", "NaN", "// c\n1", "\"\n\"",  "[1",       "{\"a\":1"}) {
    EXPECT_NE(why(text), "read") << text;
  }
}

TEST(JsonReader, RefusesTwoOfAName) { EXPECT_EQ(why(R"({"a":1,"\u0061":2})"), "the name is there twice"); }

TEST(JsonReader, RefusesHalvesOfSurrogatePairs) {
  for (const std::string_view text : {R"("\ud83d")", R"("\ude00")", R"("\ud83d\u0041")", R"("\ud83dA")"}) {
    EXPECT_EQ(why(text), "half of a surrogate pair") << text;
  }
}

TEST(JsonReader, RefusesBytesThatAreNotUtf8) {
  for (const std::string_view bytes : {"\"\x80\"", "\"\xC0\xAF\"", "\"\xE0\x80\x80\"", "\"\xED\xA0\x80\"",
                                       "\"\xF4\x90\x80\x80\"", "\"\xC3\"", "\"\xE2\x82\"", "\"\xFF\""}) {
    EXPECT_EQ(why(bytes), "this is not UTF-8");
  }
}

TEST(JsonReader, HoldsItsLimits) {
  EXPECT_EQ(why(std::string(16, '[') + std::string(16, ']')), "read");
  EXPECT_EQ(why(std::string(17, '[') + std::string(17, ']')), "it is nested too deeply");
  EXPECT_EQ(why("[1,2,3]", {.values = 4}), "read");
  EXPECT_EQ(why("[1,2,3,4]", {.values = 4}), "there are too many values");
}

TEST(JsonReader, SaysWhere) { EXPECT_EQ(read_json("[1, x]").error().at, 4u); }

}  // namespace
}  // namespace ebb::wire
