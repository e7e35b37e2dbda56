// Messages through two sessions: heads, payload, trailers, interim heads, tunnels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/h2_peer.h"

namespace ebb::wire::h2_test {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

void add(Fields& fields, std::string_view name, std::string_view value, FieldId id = FieldId::other, bool hop = false) {
  ASSERT_TRUE(fields.add({.name = name, .value = value, .id = id, .hop = hop}));
}

TEST(H2Exchange, ARequestAndItsResponsePassWhole) {
  Joined both;
  const StreamId id =
      both.client.session.request(make_request(Method::get, "GET", "/x?y=1", Framing::none), "https", true);
  EXPECT_EQ(id, 1);
  both.run();
  EXPECT_THAT(both.server.told.events, ElementsAre("request 1 GET a.example /x?y=1 none"));
  ResponseHead& head = make_response(200);
  head.has_length = true;
  head.content_length = 5;
  both.server.session.respond(1, head, false);
  both.server.send(1, "hello");
  both.server.session.finish(1, {});
  both.run();
  EXPECT_THAT(both.client.told.events, ElementsAre("response 1 200 length 5", "whole 1"));
  EXPECT_EQ(both.client.told.payload[1], "hello");
  EXPECT_EQ(both.client.session.streams(), 0u);
  EXPECT_EQ(both.server.session.streams(), 0u);
}

TEST(H2Exchange, BodiesAndTrailersPassBothWays) {
  Joined both;
  RequestHead& request = make_request(Method::post, "POST", "/up", Framing::chunked);
  request.te_trailers = true;
  both.client.session.request(request, "http", false);
  both.client.send(1, "one ");
  both.client.send(1, "two");
  both.client.session.finish(1, "X-Sum: 7\r\nx-more: yes\r\n");
  both.run();
  EXPECT_THAT(both.server.told.events,
              ElementsAre("request 1 POST a.example /up chunked te", "whole 1 x-sum: 7\r\nx-more: yes\r\n"));
  EXPECT_EQ(both.server.told.payload[1], "one two");
  both.server.session.respond(1, make_response(200), false);
  both.server.session.finish(1, "grpc-status: 0\r\n");
  both.run();
  EXPECT_THAT(both.client.told.events, ElementsAre("response 1 200 chunked", "whole 1 grpc-status: 0\r\n"));
  EXPECT_EQ(both.client.session.streams() + both.server.session.streams(), 0u);
}

TEST(H2Exchange, TrailersThatHttp1WouldDropAreDropped) {
  Joined both;
  both.client.session.request(make_request(Method::post, "POST", "/", Framing::chunked), "http", false);
  both.client.session.finish(1, "authorization: me\r\nx-kept: 1\r\ncontent-type: text/plain\r\n");
  both.run();
  EXPECT_EQ(both.server.told.events.back(), "whole 1 x-kept: 1\r\n");
}

TEST(H2Exchange, EverySplitOfTheBytesGivesTheSameEvents) {
  const auto play = [](std::size_t piece) {
    Joined both;
    RequestHead& request = make_request(Method::post, "POST", "/split", Framing::length);
    request.content_length = 3000;
    both.client.session.request(request, "http", false);
    both.client.send(1, std::string(3000, 'q'));
    both.client.session.finish(1, {});
    both.run(piece);
    both.server.session.respond(1, make_response(103), false);
    both.server.session.respond(1, make_response(200), false);
    both.server.send(1, std::string(5000, 'r'));
    both.server.session.finish(1, "x-t: 1\r\n");
    both.run(piece);
    std::vector<std::string> all = both.server.told.events;
    all.insert(all.end(), both.client.told.events.begin(), both.client.told.events.end());
    all.push_back(both.server.told.payload[1] + both.client.told.payload[1]);
    return all;
  };
  const std::vector<std::string> whole = play(std::size_t{1} << 20);
  EXPECT_EQ(whole.size(), 6u);
  for (const std::size_t piece : {1, 2, 3, 7, 8, 9, 10, 100}) EXPECT_EQ(play(piece), whole) << piece;
}

TEST(H2Exchange, InterimHeadsComeBeforeTheFinalOne) {
  Joined both;
  both.client.session.request(make_request(Method::get, "GET", "/", Framing::none), "http", true);
  both.run();
  ResponseHead& hints = make_response(103);
  add(hints.fields, "Link", "</a.css>");
  both.server.session.respond(1, hints, false);
  both.run();
  both.server.session.respond(1, make_response(204), true);
  both.run();
  EXPECT_THAT(both.client.told.events, ElementsAre("response 1 103 none", "response 1 204 none"));
  EXPECT_EQ(both.client.session.streams(), 0u);
}

TEST(H2Exchange, AnExpectationIsSeen) {
  Joined both;
  RequestHead& request = make_request(Method::post, "POST", "/", Framing::length);
  request.content_length = 2;
  add(request.fields, "Expect", "100-continue", FieldId::expect);
  both.client.session.request(request, "http", false);
  both.run();
  EXPECT_THAT(both.server.told.events, ElementsAre("request 1 POST a.example / length 2 expects"));
  both.server.session.respond(1, make_response(100), false);
  both.run();
  EXPECT_THAT(both.client.told.events, ElementsAre("response 1 100 none"));
}

TEST(H2Exchange, AResponseToHeadHasNoBody) {
  Joined both;
  both.client.session.request(make_request(Method::head, "HEAD", "/", Framing::none), "http", true);
  both.run();
  ResponseHead& head = make_response(200);
  head.has_length = true;
  head.content_length = 1234;
  both.server.session.respond(1, head, true);
  both.run();
  EXPECT_THAT(both.client.told.events, ElementsAre("response 1 200 none 1234"));
}

TEST(H2Exchange, AnEndBehindABodilessHeadIsNotTold) {
  Joined both;
  both.client.session.request(make_request(Method::head, "HEAD", "/", Framing::none), "http", true);
  both.run();
  both.server.session.respond(1, make_response(200), false);
  both.run();
  EXPECT_EQ(both.client.session.streams(), 1u);
  both.server.session.finish(1, {});
  both.run();
  EXPECT_THAT(both.client.told.events, ElementsAre("response 1 200 none"));
  EXPECT_EQ(both.client.session.streams(), 0u);
}

TEST(H2Exchange, FieldsOfTheConnectionStayBehind) {
  Joined both;
  RequestHead& request = make_request(Method::get, "GET", "/", Framing::none);
  add(request.fields, "Host", "a.example", FieldId::host);
  add(request.fields, "Connection", "x-named", FieldId::connection, true);
  add(request.fields, "X-Named", "1", FieldId::other, true);
  add(request.fields, "Keep-Alive", "1", FieldId::keep_alive, true);
  add(request.fields, "TE", "gzip", FieldId::te, true);
  add(request.fields, "Transfer-Encoding", "chunked", FieldId::transfer_encoding, true);
  add(request.fields, "Proxy-Connection", "close", FieldId::proxy_connection, true);
  add(request.fields, "Accept", "*/*");
  add(request.fields, "priority", "u=1, i");
  both.client.session.request(request, "http", true);
  both.run();
  EXPECT_THAT(both.server.told.fields, UnorderedElementsAre(Pair("accept", "*/*"), Pair("priority", "u=1, i")));

  ResponseHead& response = make_response(200);
  add(response.fields, "Connection", "close", FieldId::connection, true);
  add(response.fields, "Server", "s");
  add(response.fields, "Transfer-Encoding", "chunked", FieldId::transfer_encoding, true);
  both.server.session.respond(1, response, true);
  both.run();
  EXPECT_THAT(both.client.told.fields, UnorderedElementsAre(Pair("server", "s")));
}

TEST(H2Exchange, CookieCrumbsAreJoined) {
  RawClient client;
  std::string block = get_fields() + field("cookie", "a=1") + field("x", "y") + field("cookie", "b=2");
  for (int i = 0; i < 150; ++i) block += field("cookie", "c=" + std::to_string(i));
  client.headers(1, block);
  ASSERT_THAT(client.end.told.events, ElementsAre("request 1 GET a.example / none"));
  EXPECT_EQ(client.end.told.fields.size(), 2u);
  EXPECT_TRUE(client.end.told.fields["cookie"].starts_with("a=1; b=2; c=0; c=1; "));
}

TEST(H2Exchange, EmptyCookieCrumbsLeaveNoTrace) {
  RawClient client;
  client.headers(1, get_fields() + field("cookie", "") + field("cookie", "a=1") + field("cookie", ""));
  EXPECT_THAT(client.end.told.fields, UnorderedElementsAre(Pair("cookie", "a=1")));
}

TEST(H2Exchange, AnExtendedConnectIsATunnel) {
  Joined both;
  EXPECT_FALSE(both.client.session.peer_takes_extended_connect());
  EXPECT_FALSE(both.client.session.settings_received());
  both.run();
  EXPECT_TRUE(both.client.session.peer_takes_extended_connect());
  EXPECT_TRUE(both.client.session.settings_received());
  RequestHead& request = make_request(Method::get, "GET", "/chat", Framing::none);
  request.upgrade = "websocket";
  add(request.fields, "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
  add(request.fields, "Sec-WebSocket-Version", "13");
  both.client.session.request(request, "http", false);
  both.run();
  EXPECT_THAT(both.server.told.events, ElementsAre("request 1 CONNECT a.example /chat chunked upgrade websocket"));
  EXPECT_THAT(both.server.told.fields, UnorderedElementsAre(Pair("sec-websocket-version", "13")));

  ResponseHead& response = make_response(101);
  response.upgrade = "websocket";
  add(response.fields, "Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  add(response.fields, "Upgrade", "websocket", FieldId::upgrade, true);
  both.server.session.respond(1, response, false);
  both.server.send(1, "from the server");
  both.client.send(1, "from the client");
  both.run();
  EXPECT_THAT(both.client.told.events, ElementsAre("response 1 200 chunked"));
  EXPECT_TRUE(both.client.told.fields.empty());
  EXPECT_EQ(both.client.told.payload[1], "from the server");
  EXPECT_EQ(both.server.told.payload[1], "from the client");
  both.client.session.finish(1, {});  // half-closed: the other direction goes on
  both.run();
  EXPECT_EQ(both.server.told.events.back(), "whole 1");
  both.server.send(1, ", still");
  both.server.session.finish(1, {});
  both.run();
  EXPECT_EQ(both.client.told.payload[1], "from the server, still");
  EXPECT_EQ(both.client.session.streams() + both.server.session.streams(), 0u);
}

TEST(H2Exchange, TheSettingsAreOurs) {
  End server(H2Session::Role::server);
  std::vector<Frame> frames = read(server.take());
  ASSERT_GE(frames.size(), 2u);
  EXPECT_EQ(frames[0].type, frame::settings);
  const auto setting = [](char id, std::uint32_t value) { return std::string{'\0', id} + number(value); };
  EXPECT_EQ(frames[0].payload, setting(3, 128) + setting(4, 65536) + setting(6, 16384) + setting(9, 1) + setting(8, 1));
  EXPECT_EQ(frames[1].type, frame::window_update);
  EXPECT_EQ(frames[1].payload, number((1 << 20) - 65535));
}

TEST(H2Exchange, ManyStreamsAtOnceKeepTheirBytesApart) {
  Joined both;
  for (int i = 0; i < 100; ++i) {
    ASSERT_GT(both.client.session.request(make_request(Method::post, "POST", "/", Framing::chunked), "http", false), 0);
  }
  EXPECT_FALSE(both.client.session.may_open());
  for (int i = 0; i < 100; ++i) {
    both.client.send(2 * i + 1, std::to_string(i));
    both.client.session.finish(2 * i + 1, {});
  }
  both.run();
  EXPECT_EQ(both.server.session.streams(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(both.server.told.payload[2 * i + 1], std::to_string(i));
  for (int i = 99; i >= 0; --i) both.server.session.respond(2 * i + 1, make_response(204), true);
  both.run();
  EXPECT_EQ(both.client.session.streams() + both.server.session.streams(), 0u);
  EXPECT_TRUE(both.client.session.may_open());
}

}  // namespace
}  // namespace ebb::wire::h2_test
