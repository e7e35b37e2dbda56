#include "canary/websocket_echo.h"

#include <gtest/gtest.h>

namespace ebb::canary {
namespace {

using std::string_literals::operator""s;

std::string masked(std::uint8_t first, std::string_view payload) {
  constexpr std::string_view mask = "\x11\x22\x33\x44";
  std::string frame(1, static_cast<char>(first));
  if (payload.size() <= 125) {
    frame += static_cast<char>(0x80 | payload.size());
  } else {
    frame += "\xfe"s + static_cast<char>(payload.size() >> 8) + static_cast<char>(payload.size() & 0xff);
  }
  frame += mask;
  for (std::size_t i = 0; i < payload.size(); ++i) frame += static_cast<char>(payload[i] ^ mask[i % mask.size()]);
  return frame;
}

std::string echo_of(std::string_view bytes, std::size_t piece) {
  WebsocketEcho echo;
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += piece) echo.take(bytes.substr(at, piece), out);
  return out;
}

TEST(WebsocketEcho, GivesFramesBackUnmaskedHoweverTheyAreSplit) {
  const std::string longer(300, 'x');
  const std::string frames = masked(0x81, "hello") + masked(0x01, "in ") + masked(0x89, "ping") + masked(0x80, "two") +
                             masked(0x82, "") + masked(0x8a, "pong") + masked(0x82, longer);
  const std::string expected =
      "\x81\x05hello"s + "\x01\x03in " + "\x8a\x04ping" + "\x80\x03two" + "\x82\x00"s + "\x82\x7e\x01\x2c"s + longer;
  for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{7}, frames.size()}) {
    EXPECT_EQ(echo_of(frames, piece), expected) << piece;
  }
}

TEST(WebsocketEcho, AnswersACloseAndReadsNoFurther) {
  WebsocketEcho echo;
  std::string out;
  echo.take(masked(0x88, "\x03\xe8") + masked(0x81, "late"), out);
  EXPECT_TRUE(echo.over());
  EXPECT_EQ(out, "\x88\x02\x03\xe8");
}

TEST(WebsocketEcho, RefusesWhatNoClientMaySend) {
  const std::string wrong[] = {"\x81\x02hi"s,                        // not masked
                               masked(0xc1, "compressed?"),          // a reserved bit
                               masked(0x83, "?"),                    // an unknown opcode
                               masked(0x09, "in parts"),             // a control frame that is not final
                               masked(0x89, std::string(126, 'x')),  // or too long
                               "\x82\xff\x80\x00\x00\x00\x00\x00\x00\x00\x01\x02\x03\x04"s};
  for (const std::string& frame : wrong) {
    WebsocketEcho echo;
    std::string out;
    echo.take(frame, out);
    EXPECT_TRUE(echo.over());
    EXPECT_EQ(out, "\x88\x02\x03\xea");
  }
}

TEST(WebsocketEcho, LeavesBetweenTwoFramesAndEndsWithThePeersClose) {
  WebsocketEcho echo;
  std::string out;
  const std::string frame = masked(0x81, "hello");
  echo.take(frame.substr(0, 8), out);
  echo.leave(out);
  echo.take(frame.substr(8), out);
  EXPECT_EQ(out, "\x81\x05hello\x88\x02\x03\xe9");
  echo.take(masked(0x81, "not heard"), out);
  EXPECT_FALSE(echo.over());
  echo.take(masked(0x88, "\x03\xe9"), out);
  EXPECT_TRUE(echo.over());
  EXPECT_EQ(out, "\x81\x05hello\x88\x02\x03\xe9");
}

}  // namespace
}  // namespace ebb::canary
