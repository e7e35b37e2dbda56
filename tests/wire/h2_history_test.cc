// Frames on streams that a client may not come back to end the connection; those that we have reset do not.
#include "wire/h2_history.h"

#include <gtest/gtest.h>

#include "wire/h2_peer.h"

namespace ebb::wire::h2_test {
namespace {

constexpr std::int64_t protocol_error = 1, stream_closed = 5;

void answer(RawClient& client, StreamId stream) {
  client.end.session.respond(stream, make_response(200), true);
  client.end.take();
}

TEST(H2History, DataBehindTheEndOfAStreamEndsTheConnection) {
  RawClient client;
  client.headers(1, get_fields());
  answer(client, 1);
  EXPECT_EQ(client.give(write(frame::data, 0, 1, "x")), H2Session::Status::failed);
  EXPECT_EQ(client.end.session.cause(), base::Cause::client_protocol_error);
  EXPECT_EQ(client.code_of(frame::goaway), stream_closed);
}

TEST(H2History, ASecondHeadOnAStreamThatEndedEndsTheConnection) {
  RawClient client;
  client.headers(1, get_fields(), false);
  client.give(write(frame::data, frame::end_stream, 1, "x"));
  answer(client, 1);
  EXPECT_EQ(client.headers(1, get_fields()), H2Session::Status::failed);
  EXPECT_EQ(client.code_of(frame::goaway), stream_closed);
}

TEST(H2History, FramesBehindTheClientsOwnResetEndTheConnection) {
  for (const std::uint8_t type : {frame::data, frame::headers}) {
    RawClient client;
    client.headers(1, get_fields(), false);
    client.give(write(frame::reset, 0, 1, number(8)));
    EXPECT_EQ(client.give(write(type, frame::end_headers, 1, get_fields())), H2Session::Status::failed);
    EXPECT_EQ(client.code_of(frame::goaway), stream_closed);
  }
}

TEST(H2History, FramesOnTheirWayWhenWeResetAreIgnored) {
  RawClient client;
  client.headers(1, get_fields(), false);
  client.end.session.reset(1, base::Cause::cancelled);
  client.end.take();
  EXPECT_EQ(client.give(write(frame::data, 0, 1, "x")), H2Session::Status::open);
  EXPECT_EQ(client.give(write(frame::data, frame::end_stream, 1, "x")), H2Session::Status::open);
}

TEST(H2History, AnIdThatWasPassedOverIsNotOpenedLater) {
  RawClient client;
  client.headers(5, get_fields());
  EXPECT_EQ(client.headers(3, get_fields()), H2Session::Status::failed);
  EXPECT_EQ(client.code_of(frame::goaway), protocol_error);
}

TEST(H2History, TrailersOfAnEarlierStreamAreFine) {
  RawClient client;
  client.headers(1, get_fields(), false);
  client.headers(9, get_fields(), false);
  EXPECT_EQ(client.headers(1, field("sum", "1")), H2Session::Status::open);
  EXPECT_EQ(client.end.told.events.back(), "whole 1 sum: 1\r\n");
}

TEST(H2History, WhatIsLongGoneIsForgotten) {
  H2History history;
  for (std::uint32_t id = 1; id < 1001; id += 2) {
    const FrameHeader head{.type = FrameType::headers, .flags = FrameHeader::end_stream_flag, .stream = id};
    EXPECT_EQ(history.take(head), H2History::Fate::possible);
    EXPECT_EQ(history.take(head), H2History::Fate::ended);
  }
  EXPECT_EQ(history.take({.type = FrameType::data, .stream = 1}), H2History::Fate::possible);
  EXPECT_EQ(history.take({.type = FrameType::data, .stream = 901}), H2History::Fate::ended);
}

TEST(H2History, AClientThatGoesAwayIsTold) {
  RawClient client;
  client.headers(1, get_fields());
  EXPECT_EQ(client.give(write(frame::goaway, 0, 0, number(0) + number(0))), H2Session::Status::open);
  EXPECT_EQ(client.end.told.events.back(), "going away");
  EXPECT_EQ(client.end.session.streams(), 1u);
}

}  // namespace
}  // namespace ebb::wire::h2_test
