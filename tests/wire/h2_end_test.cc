// How streams and connections end, and what the listener may do from inside a call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/h2_peer.h"

namespace ebb::wire::h2_test {
namespace {

using base::Cause;
using testing::ElementsAre;
using testing::IsEmpty;

StreamId get(Joined& both) {
  return both.client.session.request(make_request(Method::get, "GET", "/", Framing::none), "http", true);
}

TEST(H2End, TheCodeOfAResetFollowsFromTheCause) {
  struct Row {
    Cause cause;
    bool unprocessed;
    std::int64_t code;
  };
  constexpr std::int64_t no_error = 0, internal_error = 2, refused_stream = 7, cancel = 8;
  const Row rows[] = {
      {Cause::completed, false, no_error},
      {Cause::client_body_timeout, false, cancel},
      {Cause::cancelled, false, cancel},
      {Cause::backend_empty, true, refused_stream},
      {Cause::backend_empty, false, internal_error},
      {Cause::backend_truncated, false, internal_error},
  };
  for (const Row& row : rows) {
    RawClient client;
    client.headers(1, get_fields());
    client.end.session.reset(1, row.cause, row.unprocessed);
    EXPECT_EQ(client.code_of(frame::reset), row.code) << base::name(row.cause);
    EXPECT_EQ(client.end.session.streams(), 0u);
    EXPECT_EQ(client.end.told.events.size(), 1u);
  }
}

TEST(H2End, ATruncatedResponseNeverEndsCleanly) {
  RawClient client;
  client.headers(1, get_fields());
  client.end.session.respond(1, make_response(200), false);
  client.end.send(1, "half of ");
  std::vector<Frame> frames = client.answers();
  client.end.send(1, "it");
  client.end.session.reset(1, Cause::backend_truncated);
  for (const Frame& each : client.answers()) frames.push_back(each);
  ASSERT_EQ(frames.back().type, frame::reset);
  for (const Frame& each : frames) {
    if (each.type == frame::data || each.type == frame::headers) EXPECT_EQ(each.flags & frame::end_stream, 0);
  }
}

TEST(H2End, TheClientsResetIsACancellation) {
  Joined both;
  get(both);
  both.run();
  both.client.session.reset(1, Cause::client_cancelled);
  both.run();
  EXPECT_EQ(both.server.told.events.back(), "failed 1 client_cancelled");
  EXPECT_THAT(both.client.told.events, IsEmpty());
  both.server.session.respond(1, make_response(200), true);  // too late: nothing happens
  both.server.send(1, "x");
  both.server.session.finish(1, {});
  both.server.session.consumed(1, 5);
  both.run();
  EXPECT_THAT(both.client.told.events, IsEmpty());
}

TEST(H2End, TheServersResetSaysWhetherItActed) {
  Joined both;
  get(both);
  get(both);
  get(both);
  both.run();
  both.server.session.reset(1, Cause::backend_empty, true);
  both.server.session.reset(3, Cause::internal);
  both.server.session.respond(5, make_response(200), false);
  both.run();
  both.server.session.reset(5, Cause::backend_empty, true);  // a lie: it has answered
  both.run();
  EXPECT_THAT(both.client.told.events,
              ElementsAre("failed 1 backend_refused_stream unprocessed", "failed 3 backend_stream_reset",
                          "response 5 200 chunked", "failed 5 backend_stream_reset"));
}

TEST(H2End, ACompleteResponseMayEndTheRequestEarly) {
  Joined both;
  both.client.session.request(make_request(Method::post, "POST", "/", Framing::chunked), "http", false);
  both.run();
  both.server.session.respond(1, make_response(413), true);
  both.run();
  EXPECT_EQ(both.server.session.streams(), 1u);
  both.server.session.reset(1, Cause::completed);
  both.run();
  EXPECT_THAT(both.client.told.events, ElementsAre("response 1 413 none 0", "failed 1 completed"));
}

TEST(H2End, AnAnswerBeforeTheRequestsEndLeavesBeforeTheReset) {
  RawClient client;
  client.give(write(frame::settings, 0, 0, std::string("\0\4", 2) + number(10)));
  client.headers(1, get_fields(), false);
  client.give(write(frame::data, 0, 1, "unread"));
  client.end.session.respond(1, make_response(200), false);
  client.end.send(1, "longer than its window");
  client.end.session.finish(1, {});
  client.end.session.reset(1, Cause::completed);
  client.end.session.consumed(1, 6);
  client.give(write(frame::data, 0, 1, "more of the request"));
  client.answers();
  EXPECT_EQ(client.end.told.events.size(), 1u);
  EXPECT_EQ(client.end.session.unsent(1), 12u);
  client.give(write(frame::window_update, 0, 1, number(100)));
  const std::vector<Frame> rest = client.answers();
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_EQ(rest[0].payload, "n its window");
  EXPECT_EQ(rest[0].flags, frame::end_stream);
  EXPECT_EQ(rest[1].type, frame::reset);
  EXPECT_EQ(rest[1].payload, number(0));
  EXPECT_EQ(client.end.session.streams(), 0u);
  EXPECT_EQ(client.end.told.payload[1], "unread");
}

TEST(H2End, ARequestThatWasNeverSentCanBeWithdrawn) {
  Joined both;
  both.run();
  EXPECT_EQ(get(both), 1);
  both.client.session.reset(1, Cause::client_cancelled);
  EXPECT_EQ(get(both), 3);
  both.run();
  EXPECT_THAT(both.server.told.events, ElementsAre("request 3 GET a.example / none"));
  both.server.session.respond(3, make_response(204), true);
  both.run();
  EXPECT_THAT(both.client.told.events, ElementsAre("response 3 204 none"));
  EXPECT_EQ(both.client.session.streams(), 0u);
}

// The gate may want to send when a request that was read just now makes it close the connection.
TEST(H2End, NothingIsWrittenFromInsideACallback) {
  RawClient raw;
  std::string inside;
  raw.end.told.when_request = [&](StreamId id, const RequestHead&) {
    raw.end.session.respond(id, make_response(204), true);
    inside += raw.end.take();
  };
  const std::string two = write(frame::headers, frame::end_headers | frame::end_stream, 1, get_fields()) +
                          write(frame::headers, frame::end_headers | frame::end_stream, 3, get_fields());
  EXPECT_EQ(raw.end.give(two), H2Session::Status::open);
  EXPECT_EQ(inside, "");
  std::vector<StreamId> answered;
  for (const Frame& each : read(raw.end.take())) {
    if (each.type == frame::headers) answered.push_back(each.stream);
  }
  EXPECT_EQ(answered, (std::vector<StreamId>{1, 3}));
  EXPECT_EQ(raw.end.session.streams(), 0u);
}

TEST(H2End, GoAwayWarnsFirstAndThenNamesTheLastStream) {
  Joined both;
  get(both);
  both.run();
  both.server.session.go_away(Cause::shutdown);
  EXPECT_EQ(get(both), 3);  // on its way while the warning is
  both.run();
  EXPECT_THAT(both.client.told.events, ElementsAre("going away"));
  EXPECT_FALSE(both.client.session.may_open());
  EXPECT_EQ(get(both), 0);
  both.server.session.go_away(Cause::shutdown);
  both.run();
  EXPECT_EQ(both.server.told.events.size(), 2u);
  both.server.session.respond(1, make_response(204), true);
  both.server.session.respond(3, make_response(204), true);
  both.run();
  EXPECT_THAT(both.client.told.events, ElementsAre("going away", "response 1 204 none", "response 3 204 none"));
}

// A head that has come in part is no request yet: the client may ask again, whatever its method.
TEST(H2End, GoAwayDoesNotNameAStreamWhoseHeadIsIncomplete) {
  const std::string head = write(frame::headers, frame::end_headers | frame::end_stream, 3, get_fields());
  for (std::size_t cut = 1; cut < head.size(); ++cut) {
    RawClient client;
    client.headers(1, get_fields());
    client.give(head.substr(0, cut));
    client.end.session.go_away(Cause::client_idle_timeout);
    client.end.session.go_away(Cause::client_idle_timeout);
    std::string last;
    for (const Frame& each : client.answers()) {
      if (each.type == frame::goaway) last = each.payload.substr(0, 4);
    }
    EXPECT_EQ(last, number(1)) << cut;
    EXPECT_EQ(client.give(head.substr(cut)), H2Session::Status::open) << cut;
    EXPECT_EQ(client.end.told.events.size(), 1u) << cut;
    client.end.session.respond(1, make_response(204), true);
    EXPECT_FALSE(client.answers().empty()) << cut;
  }
}

TEST(H2End, StreamsBeyondTheLastOneAreUnprocessed) {
  End client(H2Session::Role::client);
  RequestHead& head = make_request(Method::get, "GET", "/", Framing::none);
  for (int i = 0; i < 3; ++i) client.session.request(head, "http", true);
  client.take();
  client.session.request(head, "http", true);  // not even sent
  client.give(write(frame::settings, 0, 0, "") + write(frame::goaway, 0, 0, number(3) + number(0)));
  EXPECT_THAT(client.told.events, ElementsAre("failed 5 backend_going_away unprocessed",
                                              "failed 7 backend_going_away unprocessed", "going away"));
  EXPECT_EQ(client.session.streams(), 2u);
  client.take();
  client.give(write(frame::headers, frame::end_headers | frame::end_stream, 3, field(":status", "204")));
  client.give(write(frame::goaway, 0, 0, number(0) + number(0)));
  EXPECT_EQ(client.told.events.back(), "failed 1 backend_going_away unprocessed");
  EXPECT_EQ(client.session.streams(), 0u);
}

TEST(H2End, AClientThatGoesAwayOpensNoMore) {
  Joined both;
  get(both);
  both.client.session.go_away(Cause::backend_max_age);
  EXPECT_FALSE(both.client.session.may_open());
  both.run();
  both.server.session.respond(1, make_response(204), true);
  both.run();
  EXPECT_THAT(both.client.told.events, ElementsAre("response 1 204 none"));
}

TEST(H2End, PingsAreAnsweredAndOnlyOursAreTold) {
  Joined both;
  both.run();
  both.client.session.ping();
  both.run();
  EXPECT_THAT(both.client.told.events, ElementsAre("ping answered"));
  EXPECT_THAT(both.server.told.events, IsEmpty());
  both.client.give(write(frame::ping, frame::ack, 0, "12345678"));
  EXPECT_EQ(both.client.told.events.size(), 1u);
}

TEST(H2End, ThePeersLimitOfStreamsIsKept) {
  H2Limits few;
  few.streams = 2;
  Joined both(few);
  both.run();
  get(both);
  get(both);
  EXPECT_FALSE(both.client.session.may_open());
  EXPECT_EQ(get(both), 0);
  both.run();
  both.server.session.respond(1, make_response(204), true);
  both.run();
  EXPECT_EQ(get(both), 5);
}

TEST(H2End, AnswersFromInsideTheCallsPass) {
  Joined both;
  both.server.told.when_request = [&both](StreamId id, const RequestHead&) {
    both.server.session.respond(id, make_response(200), false);
    both.server.send(id, "at once");
    both.server.session.finish(id, "x-t: 1\r\n");
  };
  get(both);
  both.run();
  EXPECT_THAT(both.client.told.events, ElementsAre("response 1 200 chunked", "whole 1 x-t: 1\r\n"));
  EXPECT_EQ(both.client.told.payload[1], "at once");
  EXPECT_EQ(both.server.session.streams(), 0u);
}

TEST(H2End, StreamsMayBeResetFromInsideEveryCall) {
  for (const int where : {0, 1, 2, 3}) {
    Joined both;
    const auto reset = [&both](StreamId id) { both.server.session.reset(id, Cause::internal); };
    if (where == 0) both.server.told.when_request = [&](StreamId id, const RequestHead&) { reset(id); };
    if (where == 1) both.server.told.when_payload = [&](StreamId id, std::size_t) { reset(id); };
    if (where == 2) both.server.told.when_whole = reset;
    if (where == 3) both.server.told.when_failed = reset;
    for (int i = 0; i < 3; ++i) {
      both.client.session.request(make_request(Method::post, "POST", "/", Framing::chunked), "http", false);
      both.client.send(2 * i + 1, std::string(3000, 'x'));
      if (where == 2) both.client.session.finish(2 * i + 1, {});
    }
    both.run();
    if (where == 3) {
      for (int i = 0; i < 3; ++i) both.client.session.reset(2 * i + 1, Cause::cancelled);
      both.run();
    }
    EXPECT_EQ(both.server.session.streams(), 0u) << where;
    if (where != 3) EXPECT_EQ(both.client.told.events.back(), "failed 5 backend_stream_reset");
  }
}

TEST(H2End, ALostStreamMayBeTriedAgainFromInsideTheCall) {
  Joined both;
  both.run();
  both.client.told.when_failed = [&both](StreamId) { get(both); };
  both.server.told.when_request = [&both](StreamId id, const RequestHead&) {
    if (id == 1) both.server.session.reset(id, Cause::backend_empty, true);
    if (id == 3) both.server.session.respond(id, make_response(204), true);
  };
  get(both);
  both.run();
  EXPECT_THAT(both.client.told.events,
              ElementsAre("failed 1 backend_refused_stream unprocessed", "response 3 204 none"));
}

TEST(H2End, NeighboursMayBeResetFromInsideAGoAway) {
  End client(H2Session::Role::client);
  RequestHead& head = make_request(Method::get, "GET", "/", Framing::none);
  for (int i = 0; i < 4; ++i) client.session.request(head, "http", true);
  client.take();
  client.told.when_failed = [&client](StreamId id) { client.session.reset(id + 2, Cause::cancelled); };
  client.give(write(frame::settings, 0, 0, "") + write(frame::goaway, 0, 0, number(0) + number(0)));
  EXPECT_THAT(client.told.events, ElementsAre("failed 1 backend_going_away unprocessed",
                                              "failed 5 backend_going_away unprocessed", "going away"));
}

TEST(H2End, ASessionMayEndWithPayloadUnsentAndUnread) {
  base::BlockPool pool;
  Joined both;
  both.client.session.request(make_request(Method::post, "POST", "/", Framing::chunked), "http", false);
  both.client.send(1, std::string(200000, 'x'));
  both.run();
  EXPECT_GT(both.client.session.unsent(1), 0u);
}

}  // namespace
}  // namespace ebb::wire::h2_test
