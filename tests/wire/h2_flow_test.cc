// Windows, slow readers, how much leaves at once, and what is copied.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/h2_peer.h"

namespace ebb::wire::h2_test {
namespace {

using testing::ElementsAre;

StreamId start_download(Joined& both, std::size_t bytes) {
  const StreamId id = both.client.session.request(make_request(Method::get, "GET", "/", Framing::none), "http", true);
  both.run();
  both.server.session.respond(id, make_response(200), false);
  base::Chain body;
  for (std::size_t sent = 0; sent < bytes; sent += 16384) body.push(both.server.pool.copy(std::string(16384, 'd')));
  both.server.session.send(id, std::move(body));
  both.run();
  return id;
}

TEST(H2Flow, AReaderThatDoesNotReadStopsItsStreamAtTheWindow) {
  Joined both;
  const StreamId slow = start_download(both, 200 << 10);
  EXPECT_EQ(both.client.told.payload[slow].size(), 65536u);
  EXPECT_EQ(both.server.session.unsent(slow), (208u << 10) - 65536u);  // 13 blocks of 16 KiB
  const StreamId quick = start_download(both, 32 << 10);
  EXPECT_EQ(both.client.told.payload[quick].size(), 32u << 10);  // the neighbour flows

  both.client.session.consumed(slow, 65536);
  both.run();
  EXPECT_EQ(both.client.told.payload[slow].size(), 2 * 65536u);
}

TEST(H2Flow, TheConnectionsWindowBoundsAllStreams) {
  H2Limits client_limits;
  client_limits.connection_window = 128 << 10;
  Joined both({}, client_limits);
  for (int i = 0; i < 4; ++i) start_download(both, 64 << 10);
  const auto total = [&both] {
    std::size_t sum = 0;
    for (const auto& [id, bytes] : both.client.told.payload) sum += bytes.size();
    return sum;
  };
  EXPECT_EQ(total(), 128u << 10);
  both.client.session.reset(1, base::Cause::client_cancelled);  // gives back what nobody will read
  both.run();
  EXPECT_EQ(total(), 192u << 10);
  both.client.session.consumed(3, 64 << 10);
  both.run();
  EXPECT_EQ(total(), 256u << 10);
}

// Seen with 1,000 streams: what the gate held back while the socket was full left with the next collect(), and nobody
// was told to go on.
TEST(H2Flow, WhatWaitedWhileNothingCouldLeaveIsToldWhenItHasLeft) {
  RawClient client;
  client.headers(1, get_fields());
  client.end.session.respond(1, make_response(200), false);
  client.end.send(1, "held back");
  client.end.session.postpone();
  EXPECT_EQ(client.end.told.events.size(), 1u);
  client.end.take();
  EXPECT_EQ(client.end.told.events.back(), "drained 1");
}

ResponseHead& response_with(std::string_view value) {
  ResponseHead& head = make_response(200);
  head.fields.add({"x-long", value});
  return head;
}

// A thousand short answers to a client that reads nothing held a gigabyte that no budget knew of.
TEST(H2Flow, HeadsThatWaitAreCountedUntilTheyHaveLeft) {
  RawClient client;
  client.end.take();
  EXPECT_EQ(client.end.session.heads_held(), 0u);
  const std::string value(10'000, 'v');
  for (const StreamId id : {1, 3, 5}) client.headers(id, get_fields());
  for (const StreamId id : {1, 3, 5}) client.end.session.respond(id, response_with(value), true);
  EXPECT_GT(client.end.session.heads_held(), 30'000u);
  EXPECT_LT(client.end.session.heads_held(), 40'000u);
  client.end.take();
  EXPECT_EQ(client.end.session.heads_held(), 0u);
}

TEST(H2Flow, HeadsOfStreamsThatWereResetWaitAndAreCountedToo) {
  RawClient client;
  client.end.take();
  const std::string value(10'000, 'v');
  std::string resets;
  for (StreamId id = 1; id < 64; id += 2) {
    client.headers(id, get_fields());
    resets += write(frame::reset, 0, id, number(8));
  }
  for (StreamId id = 1; id < 64; id += 2) client.end.session.respond(id, response_with(value), false);
  EXPECT_GT(client.end.session.heads_held(), 320'000u);
  client.give(resets);
  EXPECT_EQ(client.end.session.streams(), 0u);
  client.end.take();
  EXPECT_EQ(client.end.session.heads_held(), 0u);
}

TEST(H2Flow, InterimHeadsAndTrailersAreCountedOnce) {
  RawClient client;
  client.headers(1, get_fields());
  client.end.session.respond(1, make_response(103), false);
  client.end.session.respond(1, make_response(200), false);
  client.end.send(1, "body");
  client.end.session.finish(1, "x-trailer: yes\r\n");
  EXPECT_GT(client.end.session.heads_held(), 0u);
  client.end.take();
  EXPECT_EQ(client.end.session.heads_held(), 0u);
}

TEST(H2Flow, AnEndpointThatReadsNothingGetsNoMoreRequests) {
  Joined both;
  both.run();
  RequestHead& head = make_request(Method::get, "GET", "/", Framing::none);
  const std::string value(60'000, 'v');
  head.fields.add({"x-long", value});
  int opened = 0;
  while (opened < 100 && both.client.session.may_open()) {
    const StreamId id = both.client.session.request(head, "http", true);
    both.client.session.reset(id, base::Cause::cancelled);  // it stays in the queue
    opened += 1;
  }
  EXPECT_LT(opened, 20);
  both.client.take(std::size_t{8} << 20);
  EXPECT_TRUE(both.client.session.may_open());
  EXPECT_EQ(both.client.session.heads_held(), 0u);
}

TEST(H2Flow, AReaderThatKeepsUpGetsEverything) {
  Joined both;
  both.client.told.when_payload = [&both](StreamId id, std::size_t size) { both.client.session.consumed(id, size); };
  const StreamId id = start_download(both, 4 << 20);
  both.server.session.finish(id, {});
  both.run();
  EXPECT_EQ(both.client.told.payload[id].size(), std::size_t{4} << 20);
  EXPECT_EQ(both.client.told.events.back(), "whole 1");
}

TEST(H2Flow, UploadsAreBoundedByTheServersWindow) {
  Joined both;
  both.client.session.request(make_request(Method::post, "POST", "/", Framing::chunked), "http", false);
  both.client.send(1, std::string(100000, 'u'));
  both.run();
  EXPECT_EQ(both.server.told.payload[1].size(), 65536u);
  EXPECT_EQ(both.client.session.unsent(1), 100000u - 65536u);
  EXPECT_TRUE(both.client.told.events.empty());
  both.server.session.consumed(1, 65536);
  both.run();
  EXPECT_EQ(both.server.told.payload[1].size(), 100000u);
  EXPECT_THAT(both.client.told.events, ElementsAre("drained 1"));
}

TEST(H2Flow, DrainedIsToldOnlyToThoseWhoHadToWait) {
  Joined both;
  const StreamId id = start_download(both, 16 << 10);
  EXPECT_EQ(both.server.session.unsent(id), 0u);
  EXPECT_EQ(both.server.told.events.size(), 1u);
  both.server.told.when_drained = [&both](StreamId stream) { both.server.session.finish(stream, {}); };
  both.server.send(id, std::string(80 << 10, 'x'));
  both.run();
  EXPECT_EQ(both.server.told.events.size(), 1u);
  both.client.session.consumed(id, 64 << 10);
  both.run();
  EXPECT_EQ(both.server.told.events.back(), "drained 1");
  EXPECT_EQ(both.client.told.events.back(), "whole 1");
}

TEST(H2Flow, CollectStopsAtItsRoom) {
  Joined both;
  const StreamId id = both.client.session.request(make_request(Method::get, "GET", "/", Framing::none), "http", true);
  both.run();
  both.server.session.respond(id, make_response(200), false);
  both.server.send(id, std::string(60000, 'c'));
  const std::string first = both.server.take(10000);
  EXPECT_GE(first.size(), 10000u);
  EXPECT_LT(first.size(), 10000u + 16384 + 9 + 100);
  EXPECT_TRUE(both.server.session.has_output());
  std::string rest;
  while (both.server.session.has_output()) rest += both.server.take(1);
  for (const Frame& each : read(first + rest)) EXPECT_LE(each.payload.size(), 16384u);
  both.client.give(first + rest);
  EXPECT_EQ(both.client.told.payload[id], std::string(60000, 'c'));
}

TEST(H2Flow, PayloadIsNotCopiedUnlessItIsSmall) {
  Joined both;
  const StreamId id = both.client.session.request(make_request(Method::get, "GET", "/", Framing::none), "http", true);
  both.run();
  both.server.session.respond(id, make_response(200), false);
  base::Slice large = both.server.pool.copy(std::string(16000, 'l'));
  base::Slice small = both.server.pool.copy("small");
  const base::Block* block = large.block();
  const base::Block* small_block = small.block();
  base::Chain payload;
  payload.push(std::move(large));
  payload.push(std::move(small));
  both.server.session.send(id, std::move(payload));
  base::Chain out;
  both.server.session.collect(both.server.pool, out, 1 << 20);
  bool moved = false;
  for (std::uint32_t i = 0; i < out.slices(); ++i) {
    moved = moved || out[i].block() == block;
    EXPECT_NE(out[i].block(), small_block);
  }
  EXPECT_TRUE(moved);
}

TEST(H2Flow, ReceivedPayloadIsAViewIntoWhatWasReceived) {
  RawClient client;
  client.headers(1, get_fields(), false);
  client.end.told.keep_slices = true;
  const base::Slice received = client.end.pool.copy(write(frame::data, 0, 1, "view me"));
  client.end.session.receive(received, base::Instant{});
  ASSERT_EQ(client.end.told.slices.size(), 1u);
  EXPECT_EQ(client.end.told.slices[0].block(), received.block());
  EXPECT_EQ(client.end.told.slices[0].view(), "view me");
  client.end.told.slices.clear();
}

TEST(H2Flow, DataBeyondTheWindowEndsTheStream) {
  RawClient client;
  client.headers(1, get_fields(), false);
  for (int i = 0; i < 5; ++i) client.give(write(frame::data, 0, 1, std::string(16384, 'x')));
  constexpr std::int64_t flow_control_error = 3;
  EXPECT_EQ(client.code_of(frame::reset), flow_control_error);
  EXPECT_EQ(client.end.told.payload[1].size(), 65536u);
  EXPECT_EQ(client.end.told.events.back(), "failed 1 client_protocol_error");
}

TEST(H2Flow, PaddingIsGivenBack) {
  RawClient client;
  client.headers(1, get_fields(), false);
  const std::string padded = std::string(1, '\xff') + "x" + std::string(255, '\0');
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(client.give(write(frame::data, frame::padded, 1, padded)), H2Session::Status::open);
    client.end.take();
  }
  EXPECT_EQ(client.end.told.payload[1].size(), 1000u);
}

}  // namespace
}  // namespace ebb::wire::h2_test
