// What is malformed or ambiguous, written by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/h2_peer.h"

namespace ebb::wire::h2_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t protocol_error = 1, no_error = 0;

std::string request_fields(std::string_view method, std::string_view scheme, std::string_view authority,
                           std::string_view path) {
  std::string block = field(":method", method) + field(":scheme", scheme);
  if (!authority.empty()) block += field(":authority", authority);
  return block + field(":path", path);
}

// nullptr-like "": accepted.
std::string verdict_on(std::string_view block, const H2Limits& limits = {}) {
  RawClient client(limits);
  client.headers(1, block);
  if (client.end.told.events.empty()) return "reset " + std::to_string(client.code_of(frame::reset));
  const std::string& event = client.end.told.events.front();
  return event.starts_with("refused 1 ") ? event.substr(10) : "";
}

TEST(H2Refusal, AmbiguousAuthoritiesAreBadRequests) {
  EXPECT_EQ(verdict_on(get_fields() + field("host", "a.example")), "");
  EXPECT_EQ(verdict_on(get_fields() + field("host", "A.Example")), "");
  EXPECT_EQ(verdict_on(get_fields() + field("host", "b.example")), "client_bad_request");
  EXPECT_EQ(verdict_on(get_fields() + field("host", "a.example:80")), "client_bad_request");
  EXPECT_EQ(verdict_on(request_fields("GET", "http", "", "/") + field("host", "b.example")), "");
  EXPECT_EQ(verdict_on(request_fields("GET", "http", "me@a.example", "/")), "client_bad_request");
  EXPECT_EQ(verdict_on(request_fields("GET", "http", "a.example:", "/")), "client_bad_request");
  EXPECT_EQ(verdict_on(request_fields("GET", "http", "a.example:99999", "/")), "client_bad_request");
  EXPECT_EQ(verdict_on(request_fields("GET", "http", "", "/")), "reset 1");
}

TEST(H2Refusal, TargetsThatHttp1WouldRefuseAreBadRequests) {
  EXPECT_EQ(verdict_on(request_fields("GET", "http", "a.example", "/a#b")), "client_bad_request");
  EXPECT_EQ(verdict_on(request_fields("GET", "http", "a.example", "/a\x80")), "client_bad_request");
  EXPECT_EQ(verdict_on(request_fields("GET", "ftp", "a.example", "/")), "client_bad_request");
  EXPECT_EQ(verdict_on(request_fields("OPTIONS", "http", "a.example", "*")), "");
  EXPECT_EQ(verdict_on(request_fields("GET", "http", "a.example", "*")), "reset 1");
  EXPECT_EQ(verdict_on(request_fields("GET", "http", "a.example", "a")), "reset 1");
  EXPECT_EQ(verdict_on(request_fields("GET", "http", "a.example", "/a b")), "reset 1");
  EXPECT_EQ(verdict_on(request_fields("G T", "http", "a.example", "/")), "reset 1");
}

TEST(H2Refusal, ConnectIsServedForTunnelsOnly) {
  EXPECT_EQ(verdict_on(field(":method", "CONNECT") + field(":authority", "a.example:443")), "client_method_refused");
  EXPECT_EQ(verdict_on(request_fields("CONNECT", "http", "a.example", "/") + field(":protocol", "websocket")), "");
  EXPECT_EQ(verdict_on(request_fields("CONNECT", "http", "a.example", "/") + field(":protocol", "web socket")),
            "client_bad_request");
  EXPECT_EQ(verdict_on(request_fields("GET", "http", "a.example", "/") + field(":protocol", "websocket")), "reset 1");
}

TEST(H2Refusal, MalformedFieldsResetTheStream) {
  EXPECT_EQ(verdict_on(get_fields() + field("X-Upper", "1")), "reset 1");
  EXPECT_EQ(verdict_on(get_fields() + field("x", "a\nb")), "reset 1");
  EXPECT_EQ(verdict_on(get_fields() + field("x", std::string_view("a\0b", 3))), "reset 1");
  EXPECT_EQ(verdict_on(get_fields() + field("x", "\x7f")), "reset 1");
  EXPECT_EQ(verdict_on(get_fields() + field("x", " a")), "reset 1");
  EXPECT_EQ(verdict_on(get_fields() + field("x y", "a")), "reset 1");
  EXPECT_EQ(verdict_on(get_fields() + field("", "a")), "reset 1");
  EXPECT_EQ(verdict_on(get_fields() + field("connection", "close")), "reset 1");
  EXPECT_EQ(verdict_on(get_fields() + field("transfer-encoding", "chunked")), "reset 1");
  EXPECT_EQ(verdict_on(get_fields() + field("upgrade", "h2c")), "reset 1");
  EXPECT_EQ(verdict_on(get_fields() + field("keep-alive", "1")), "reset 1");
  EXPECT_EQ(verdict_on(get_fields() + field("te", "gzip")), "reset 1");
  EXPECT_EQ(verdict_on(get_fields() + field(":path", "/again")), "reset 1");
  EXPECT_EQ(verdict_on(get_fields() + field(":unknown", "1")), "reset 1");
  EXPECT_EQ(verdict_on(get_fields() + field(":status", "200")), "reset 1");
  EXPECT_EQ(verdict_on(field("x", "1") + get_fields()), "reset 1");
  EXPECT_EQ(verdict_on(get_fields() + field("content-length", "0") + field("content-length", "0")), "reset 1");
  EXPECT_EQ(verdict_on(get_fields() + field("content-length", "-1")), "reset 1");
  EXPECT_EQ(verdict_on(get_fields() + field("te", "trailers") + field("x", "a\tb \xff c")), "");
  EXPECT_EQ(verdict_on(get_fields() + field("expect", "magic")), "client_expectation_failed");
}

TEST(H2Refusal, HeadsBeyondTheLimitsAreRefused) {
  EXPECT_EQ(verdict_on(get_fields("/" + std::string(8192, 'a'))), "client_uri_too_long");
  EXPECT_EQ(verdict_on(get_fields("/" + std::string(8191, 'a'))), "");
  EXPECT_EQ(verdict_on(get_fields() + field("x", std::string(16000, 'a'))), "");
  H2Limits small;
  small.head = {.head_bytes = 2000, .target_bytes = 500, .fields = 3};
  EXPECT_EQ(verdict_on(get_fields() + field("x", std::string(1980, 'a')), small), "client_head_too_large");
  EXPECT_EQ(verdict_on(get_fields("/" + std::string(2000, 'a')), small), "client_uri_too_long");
  std::string block = get_fields();
  for (int i = 0; i < 3; ++i) block += field("x", "1");
  EXPECT_EQ(verdict_on(block, small), "");
  EXPECT_EQ(verdict_on(block + field("x", "1"), small), "client_head_too_large");
}

TEST(H2Refusal, ARefusedRequestIsAnsweredAndItsBodyThrownAway) {
  RawClient client;
  client.headers(1, get_fields() + field("host", "b.example"), false);
  EXPECT_THAT(client.end.told.events, ElementsAre("refused 1 client_bad_request"));
  client.give(write(frame::data, 0, 1, std::string(1000, 'x')));
  client.end.session.respond(1, make_response(400), false);
  client.end.send(1, "no");
  client.end.session.finish(1, {});
  EXPECT_EQ(client.code_of(frame::reset), no_error);
  EXPECT_EQ(client.end.session.streams(), 0u);
  client.give(write(frame::data, frame::end_stream, 1, "more"));
  EXPECT_EQ(client.end.told.events.size(), 1u);
  EXPECT_THAT(client.end.told.payload, IsEmpty());
  client.headers(3, get_fields());
  EXPECT_EQ(client.end.told.events.size(), 2u);
}

TEST(H2Refusal, ALengthThatDoesNotFitFailsTheStream) {
  RawClient client;
  client.headers(1, get_fields() + field("content-length", "5"), false);
  client.give(write(frame::data, frame::end_stream, 1, "four"));
  EXPECT_THAT(client.end.told.events,
              ElementsAre("request 1 GET a.example / length 5", "failed 1 client_protocol_error"));
  EXPECT_EQ(client.code_of(frame::reset), protocol_error);
}

TEST(H2Refusal, BrokenTrailersFailTheStream) {
  for (const std::string& block :
       {field(":path", "/"), field("X", "1"), field("x", "\r\n"), field("x", std::string(8192, 'a'))}) {
    RawClient client;
    client.headers(1, get_fields(), false);
    client.headers(1, block);
    EXPECT_THAT(client.end.told.events,
                ElementsAre("request 1 GET a.example / chunked", "failed 1 client_protocol_error"));
    EXPECT_EQ(client.code_of(frame::reset), protocol_error);
    EXPECT_EQ(client.end.session.streams(), 0u);
  }
}

TEST(H2Refusal, PrioritiesOfOldMustStillBeWellFormed) {
  const std::string broken[] = {
      write(frame::headers, frame::end_headers | frame::priority_flag, 1, number(1) + "x" + get_fields()),  // on itself
      write(frame::priority, 0, 1, number(1) + "x"),                                                        // on itself
      write(frame::priority, 0, 0, number(1) + "x"),
      write(frame::priority, 0, 1, "four"),
  };
  for (const std::string& bytes : broken) {
    RawClient client;
    client.give(bytes);
    const std::vector<Frame> answers = client.answers();
    ASSERT_FALSE(answers.empty());
    EXPECT_TRUE(answers[0].type == frame::goaway || answers[0].type == frame::reset);
  }
}

TEST(H2Refusal, ErrorsOfTheConnectionAreKnownAtOnce) {
  const std::string broken[] = {
      write(frame::data, 0, 1, "x"),                               // idle stream
      write(frame::settings, 0, 0, "odd"),                         // size
      write(frame::ping, 0, 0, "short"),                           //
      write(frame::window_update, 0, 0, number(0)),                //
      write(frame::continuation, frame::end_headers, 1, ""),       // without HEADERS
      write(frame::headers, frame::end_headers, 2, get_fields()),  // even id
      write(frame::headers, frame::end_headers, 1, "\xff\xff\xff\xff\xff\xff"),
      write(frame::data, 0, 1, std::string(20000, 'x')),  // larger than a frame may be
      write(5, 0, 1, ""),                                 // PUSH_PROMISE from a client
  };
  for (const std::string& bytes : broken) {
    RawClient client;
    EXPECT_EQ(client.give(bytes), H2Session::Status::failed);
    EXPECT_EQ(client.end.session.cause(), base::Cause::client_protocol_error);
    EXPECT_STRNE(client.end.session.why(), "");
    EXPECT_TRUE(client.end.session.has_output());
    EXPECT_GT(client.code_of(frame::goaway), 0);
    EXPECT_FALSE(client.end.session.has_output());
    EXPECT_EQ(client.headers(3, get_fields()), H2Session::Status::failed);
    EXPECT_THAT(client.end.told.events, IsEmpty());
  }
}

TEST(H2Refusal, APrefaceThatIsNotOneFails) {
  End server(H2Session::Role::server);
  EXPECT_EQ(server.give("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), H2Session::Status::failed);
  EXPECT_EQ(server.session.cause(), base::Cause::client_protocol_error);
  End other(H2Session::Role::server);
  EXPECT_EQ(other.give("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + write(frame::ping, 0, 0, "12345678")),
            H2Session::Status::failed);
}

// A hand-written server for one request of ours.
struct RawServer {
  explicit RawServer(Method method = Method::get) : end(H2Session::Role::client) {
    end.session.request(make_request(method, method == Method::head ? "HEAD" : "GET", "/", Framing::none), "http",
                        true);
    end.take();
    end.give(write(frame::settings, 0, 0, ""));
  }
  void headers(std::string_view block, bool last) {
    end.give(write(frame::headers, frame::end_headers | (last ? frame::end_stream : 0), 1, block));
  }
  End end;
};

TEST(H2Refusal, MalformedResponsesFailTheirStreamOnly) {
  const std::string blocks[] = {
      field(":status", "101"),
      field(":status", "20"),
      field(":status", "2000"),
      field("x", "1"),
      field(":status", "200") + field("connection", "close"),
      field(":status", "200") + field("content-length", "1") + field("content-length", "1"),
  };
  for (const std::string& block : blocks) {
    RawServer server;
    server.headers(block, false);
    server.end.take();
    EXPECT_THAT(server.end.told.events, ElementsAre("failed 1 backend_protocol_error"));
    EXPECT_TRUE(server.end.session.may_open());
  }
  RawServer large;
  large.headers(field(":status", "200") + field("x", std::string(16360, 'a')), true);
  large.headers("", true);
  EXPECT_THAT(large.end.told.events, ElementsAre("response 1 200 none 0"));
  RawServer low;
  low.headers(field(":status", "099"), true);
  EXPECT_THAT(low.end.told.events, ElementsAre("failed 1 backend_bad_response"));
  RawServer fields;
  std::string many = field(":status", "200");
  for (int i = 0; i < 101; ++i) many += field("x", "1");
  fields.headers(many, true);
  EXPECT_THAT(fields.end.told.events, ElementsAre("failed 1 backend_bad_response"));
}

TEST(H2Refusal, AResponseShorterThanItsLengthFails) {
  RawServer server;
  server.headers(field(":status", "200") + field("content-length", "10"), false);
  server.end.give(write(frame::data, frame::end_stream, 1, "short"));
  server.end.take();
  EXPECT_THAT(server.end.told.events, ElementsAre("response 1 200 length 10", "failed 1 backend_protocol_error"));
}

TEST(H2Refusal, ContentBehindAHeadResponseIsNotTold) {
  RawServer server(Method::head);
  server.headers(field(":status", "200"), false);
  server.end.give(write(frame::data, frame::end_stream, 1, "smuggled"));
  server.end.take();
  EXPECT_THAT(server.end.told.events, ElementsAre("response 1 200 none"));
  EXPECT_THAT(server.end.told.payload, IsEmpty());
  EXPECT_EQ(server.end.session.streams(), 0u);
}

}  // namespace
}  // namespace ebb::wire::h2_test
