#include "canary/websocket_reader.h"

#include <gtest/gtest.h>

#include "wire/websocket_frames.h"

namespace ebb::canary {
namespace {

using namespace std::string_literals;
using Status = WebsocketReader::Status;

struct Case {
  const char* name;
  std::string bytes;
  Status status;
  std::string message = {};
};

const Case cases[] = {
    {"text", "\x81\x02hi"s, Status::complete, "hi"},
    {"binary", "\x82\x02hi"s, Status::complete, "hi"},
    {"empty", "\x81\x00"s, Status::complete, ""},
    {"two bytes of length", "\x81\x7e\x00\x02hi"s, Status::complete, "hi"},
    {"eight bytes of length", "\x81\x7f\x00\x00\x00\x00\x00\x00\x00\x02hi"s, Status::complete, "hi"},
    {"fragments with a ping between them", "\x01\x01h\x89\x01p\x80\x01i"s, Status::complete, "hi"},
    {"what follows is not read", "\x81\x02hi\xff\xff"s, Status::complete, "hi"},
    {"half", "\x81\x02h"s, Status::more},
    {"close", "\x88\x02\x03\xe9"s, Status::closed},
    {"masked", "\x81\x82\x00\x00\x00\x00hi"s, Status::refused},
    {"reserved bits", "\xc1\x02hi"s, Status::refused},
    {"unknown kind", "\x83\x02hi"s, Status::refused},
    {"continuation of nothing", "\x80\x02hi"s, Status::refused},
    {"message within a message", "\x01\x01h\x81\x01i"s, Status::refused},
    {"long control frame", "\x89\x7e\x00\x80"s, Status::refused},
    {"fragmented control frame", "\x09\x01p"s, Status::refused},
    {"far too long", "\x81\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"s, Status::refused},
};

TEST(WebsocketReader, ReadsOneMessage) {
  for (const Case& one : cases) {
    WebsocketReader reader;
    EXPECT_EQ(reader.take(one.bytes), one.status) << one.name;
    if (one.status == Status::complete) EXPECT_EQ(reader.message(), one.message) << one.name;
    if (one.status == Status::refused) EXPECT_NE(std::string_view(reader.why()), "") << one.name;
  }
}

TEST(WebsocketReader, SplitsChangeNothing) {
  for (const Case& one : cases) {
    WebsocketReader reader;
    Status status = Status::more;
    for (const char byte : one.bytes) status = reader.take({&byte, 1});
    EXPECT_EQ(status, one.status) << one.name;
    if (one.status == Status::complete) EXPECT_EQ(reader.message(), one.message) << one.name;
  }
}

TEST(WebsocketReader, ManyFragmentsAreNotLongerThanOne) {
  WebsocketReader reader;
  reader.take("\x01\x00"s);
  Status status = Status::more;
  for (std::size_t i = 0; i <= WebsocketReader::message_bytes_max && status == Status::more; ++i) {
    status = reader.take("\x00\x01x"s);
  }
  EXPECT_EQ(status, Status::refused);
}

TEST(WebsocketText, IsOneMaskedFrame) {
  const std::string frame = websocket_text("hello", 0x04030201);
  EXPECT_EQ(frame, "\x81\x85\x01\x02\x03\x04"s + "\x69\x67\x6f\x68\x6e");
  wire::WebsocketFrames frames;
  frames.take(frame);
  EXPECT_TRUE(frames.between_frames());
}

}  // namespace
}  // namespace ebb::canary
