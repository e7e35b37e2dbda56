#include "wire/websocket_frames.h"

#include <gtest/gtest.h>

#include <string>

namespace ebb::wire {
namespace {

using std::string_literals::operator""s;

// Where frames of every kind of header end.
std::string all_kinds() {
  std::string frames;
  frames += "\x81\x02hi"s;
  frames += "\x89\x00"s;                                                            // an empty ping
  frames += "\x82\x7e\x01\x00"s + std::string(256, 'x');                            // 16 bits of length
  frames += "\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00"s + std::string(65536, 'y');  // 64 bits
  frames +=
      "\x81\x83\x01\x02\x03\x04"
      "abc"s;  // masked
  frames += "\x82\xfe\x00\x80\x01\x02\x03\x04"s + std::string(128, 'z');
  return frames;
}

TEST(WebsocketFrames, AreCountedAlikeHoweverTheyAreSplit) {
  const std::string frames = all_kinds();
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{1000}, frames.size()}) {
    WebsocketFrames walk;
    for (std::size_t at = 0; at < frames.size(); at += piece) walk.take(std::string_view(frames).substr(at, piece));
    EXPECT_TRUE(walk.between_frames()) << piece;
  }
}

TEST(WebsocketFrames, AreNotOverBeforeTheirLastByte) {
  const std::string frame =
      "\x81\x83\x01\x02\x03\x04"
      "abc"s;
  for (std::size_t size = 1; size < frame.size(); ++size) {
    WebsocketFrames walk;
    walk.take(std::string_view(frame).substr(0, size));
    EXPECT_FALSE(walk.between_frames()) << size;
  }
}

}  // namespace
}  // namespace ebb::wire
