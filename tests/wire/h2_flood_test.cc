// Each flood against a session: the offender is cut with ENHANCE_YOUR_CALM, and what a client may do is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/h2_peer.h"

namespace ebb::wire::h2_test {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t enhance_your_calm = 11;
constexpr int frames_max = 10000;

// Gives frames, written by the round, until the session fails; how many it took.
int flood(RawClient& client, const std::function<std::string(int)>& round, base::Duration every = 0ns) {
  base::Instant now{1h};
  for (int i = 0; i < frames_max; ++i) {
    if (client.give(round(i), now) == H2Session::Status::failed) return i;
    now += every;
  }
  return frames_max;
}

void expect_cut(RawClient& client) {
  EXPECT_EQ(client.end.session.cause(), base::Cause::client_flood);
  EXPECT_STRNE(client.end.session.why(), "");
  EXPECT_EQ(client.code_of(frame::goaway), enhance_your_calm);
}

std::string open_and_reset(int round) {
  const StreamId id = 2 * round + 1;
  return write(frame::headers, frame::end_headers | frame::end_stream, id, get_fields()) +
         write(frame::reset, 0, id, number(8));
}

TEST(H2Flood, RapidResetsAreCut) {
  RawClient client;
  EXPECT_EQ(flood(client, open_and_reset), 200);
  expect_cut(client);
}

TEST(H2Flood, ABrowserThatCancelsIsNot) {
  RawClient client;
  EXPECT_EQ(flood(
                client,
                [&client](int i) {
                  client.end.take();
                  return open_and_reset(i);
                },
                25ms),
            frames_max);
}

TEST(H2Flood, StreamsThatWeMustResetCountToo) {
  RawClient client;
  const int count = flood(client, [&client](int i) {
    client.end.take();
    return write(frame::headers, frame::end_headers | frame::end_stream, 2 * i + 1, get_fields() + field("X", "1"));
  });
  EXPECT_LE(count, 200);
  expect_cut(client);
}

TEST(H2Flood, RefusedRequestsCountToo) {
  RawClient client;
  const int count = flood(client, [&client](int i) {
    if (i > 0) client.end.session.respond(2 * i - 1, make_response(400), true);
    client.end.take();
    return write(frame::headers, frame::end_headers | frame::end_stream, 2 * i + 1,
                 get_fields() + field("host", "other"));
  });
  EXPECT_EQ(count, 200);
  expect_cut(client);
}

TEST(H2Flood, StreamsBeyondTheLimitAreCut) {
  H2Limits few;
  few.streams = 2;
  RawClient client(few);
  const int count =
      flood(client, [](int i) { return write(frame::headers, frame::end_headers, 2 * i + 1, get_fields()); });
  EXPECT_LE(count, 202);
  EXPECT_EQ(client.end.session.streams(), 2u);
}

TEST(H2Flood, ControlFramesAreCut) {
  const std::string ping = write(frame::ping, 0, 0, "12345678");
  const std::string settings = write(frame::settings, 0, 0, "");
  const std::string priority = write(frame::priority, 0, 1, number(0) + "x");
  const std::string update = write(frame::window_update, 0, 0, number(1));
  const std::string unknown = write(0x77, 0, 0, "?");
  for (const std::string& bytes : {ping, settings, priority, update, unknown}) {
    RawClient client;
    EXPECT_LE(flood(client, [&](int) { return bytes; }), 1000);
    expect_cut(client);
  }
}

TEST(H2Flood, EmptyDataIsCut) {
  for (const bool padded : {false, true}) {
    RawClient client;
    client.headers(1, get_fields(), false);
    const std::string bytes =
        padded ? write(frame::data, frame::padded, 1, std::string("\x03\0\0\0", 4)) : write(frame::data, 0, 1, "");
    EXPECT_LE(flood(client, [&](int) { return bytes; }), 100);
    expect_cut(client);
  }
}

TEST(H2Flood, EmptyDataOnAClosedStreamIsCut) {
  RawClient client;
  client.headers(1, get_fields(), false);
  client.end.session.reset(1, base::Cause::cancelled);
  client.end.take();
  EXPECT_LE(flood(client, [&](int) { return write(frame::data, 0, 1, ""); }), 100);
  expect_cut(client);
}

TEST(H2Flood, ContinuationsAreCut) {
  RawClient client;
  client.give(write(frame::headers, 0, 1, get_fields()));
  EXPECT_LE(flood(client, [](int) { return write(frame::continuation, 0, 1, field("x", "1")); }), 8);
  expect_cut(client);
  RawClient empty;
  empty.give(write(frame::headers, 0, 1, ""));
  EXPECT_LE(flood(empty, [](int) { return write(frame::continuation, 0, 1, ""); }), 8);
  expect_cut(empty);
}

TEST(H2Flood, AHeadInContinuationsIsRead) {
  RawClient client;
  const std::string block = get_fields() + field("x", std::string(100, 'y'));
  client.give(write(frame::headers, frame::end_stream, 1, block.substr(0, 10)));
  client.give(write(frame::continuation, 0, 1, block.substr(10, 50)));
  client.give(write(frame::continuation, frame::end_headers, 1, block.substr(60)));
  EXPECT_EQ(client.end.told.events.size(), 1u);
  EXPECT_EQ(client.end.told.fields["x"].size(), 100u);
}

TEST(H2Flood, AHeaderBombIsCutBeforeItIsUnpacked) {
  RawClient client;
  // One field of 3 KiB into the dynamic table (index 62), then named again and again by one byte.
  std::string bomb = field("x", std::string(3000, 'b'));
  bomb[0] = '\x40';
  const std::string block = get_fields() + bomb + std::string(12000, '\xbe');
  EXPECT_EQ(client.headers(1, block), H2Session::Status::failed);
  EXPECT_TRUE(client.end.told.events.empty());
  expect_cut(client);
}

TEST(H2Flood, AHeadSomewhatTooLargeIsOnlyRefusedAndHpackStaysInStep) {
  RawClient client;
  std::string indexed = field("x", std::string(3000, 'b'));
  indexed[0] = '\x40';
  EXPECT_EQ(client.headers(1, get_fields() + indexed + std::string(8, '\xbe')), H2Session::Status::open);
  EXPECT_EQ(client.end.told.events.back(), "refused 1 client_head_too_large");
  EXPECT_EQ(client.headers(3, get_fields() + "\xbe"), H2Session::Status::open);
  EXPECT_EQ(client.end.told.events.back(), "request 3 GET a.example / none");
  EXPECT_EQ(client.end.told.fields["x"].size(), 3000u);
}

TEST(H2Flood, APeerThatDoesNotReadItsAcknowledgementsIsBounded) {
  RawClient client;
  const int count = flood(client, [](int) { return write(frame::ping, 0, 0, "12345678"); }, 100ms);
  EXPECT_LT(count, 64 * 1024 / 17 + 256 + 2);
  expect_cut(client);
}

TEST(H2Flood, WindowUpdatesForWhatWeSentAreFree) {
  RawClient client;
  client.give(write(frame::settings, 0, 0, std::string("\0\4", 2) + number(1 << 30)));
  client.headers(1, get_fields());
  client.end.session.respond(1, make_response(200), false);
  for (int i = 0; i < 3000; ++i) {
    client.end.send(1, "message");
    client.end.take();
    const std::string updates = write(frame::window_update, 0, 0, number(7)) +
                                write(frame::window_update, 0, 1, number(7)) + write(frame::ping, 0, 0, "12345678");
    ASSERT_EQ(client.give(updates, base::Instant{1h}), H2Session::Status::open) << i;
  }
}

TEST(H2Flood, ABackendThatFloodsIsCutToo) {
  End client(H2Session::Role::client);
  client.take();
  client.give(write(frame::settings, 0, 0, ""));
  auto status = H2Session::Status::open;
  for (int i = 0; i < 1000; ++i) status = client.give(write(frame::ping, 0, 0, "12345678"));
  EXPECT_EQ(status, H2Session::Status::failed);
  EXPECT_EQ(client.session.cause(), base::Cause::backend_protocol_error);
  EXPECT_FALSE(client.session.may_open());
}

}  // namespace
}  // namespace ebb::wire::h2_test
