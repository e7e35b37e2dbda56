#include "observe/text_escape.h"

#include <gtest/gtest.h>

namespace ebb::observe {
namespace {

std::string json(std::string_view text) {
  std::string out;
  append_json_escaped(out, text);
  return out;
}

TEST(TextEscape, WhatPeopleCanReadStays) {
  for (const std::string_view text :
       {"plain \"text\" \\ with signs", "caf\xc3\xa9", "\xe6\x97\xa5\xe6\x9c\xac", "\xf0\x9f\x8c\x8a"}) {
    EXPECT_EQ(visible(text), text);
  }
  EXPECT_EQ(visible(""), "");
}

TEST(TextEscape, WhatATerminalActsOnIsShown) {
  EXPECT_EQ(visible("a\x1b[2J\r\n\x7f"), "a\\x1b[2J\\x0d\\x0a\\x7f");
  EXPECT_EQ(visible(std::string_view("\0x", 2)), "\\x00x");
  EXPECT_EQ(visible("\xc2\x9b"
                    "31m"),
            "\\xc2\\x9b31m")
      << "CSI as UTF-8";
  EXPECT_EQ(visible("\x9b"
                    "31m"),
            "\\x9b31m")
      << "CSI as one byte";
  EXPECT_EQ(visible("\xe2\x80\xae"), "\\xe2\\x80\\xae") << "right-to-left override";
  EXPECT_EQ(visible("\xe2\x80\xa8"), "\\xe2\\x80\\xa8") << "line separator";
  EXPECT_EQ(visible("\xe2\x80"), "\\xe2\\x80") << "cut short";
}

TEST(TextEscape, LinesStayWhereTheyAreMeantToBeLines) {
  EXPECT_EQ(visible_lines("a\tb\nc\x1b\n"), "a\tb\nc\\x1b\n");
  EXPECT_EQ(visible("a\tb\nc"), "a\\x09b\\x0ac");
}

TEST(TextEscape, JsonMeansTheSameAndShowsIt) {
  EXPECT_EQ(json("\xc2\x9b"), "\\u009b");
  EXPECT_EQ(json("\xe2\x80\xae"), "\\u202e");
  EXPECT_EQ(json("\xf3\xa0\x80\x81"), "\\udb40\\udc01") << "beyond the basic plane: two units";
  EXPECT_EQ(json("caf\xc3\xa9"), "caf\xc3\xa9");
}

}  // namespace
}  // namespace ebb::observe
