#include "canary/echo_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/h2.h"

namespace ebb::canary {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Waiting = EchoProtocol::Waiting;

constexpr std::uint16_t port = 8080;

class Session : public testing::Test {
 protected:
  std::string give(std::string_view bytes) {
    base::Chain out;
    session_.take(blocks_.copy(bytes), clock_.now(), out);
    return text_of(std::move(out));
  }
  std::string leave() {
    base::Chain out;
    session_.leave(out);
    return text_of(std::move(out));
  }
  static std::string text_of(base::Chain out) {
    std::string text;
    while (!out.empty()) text += out.pop_front().view();
    return text;
  }

  base::FakeClock clock_;
  base::BlockPool blocks_;
  EchoDesk desk_{{.pod = "canary-x", .node = "worker-1"}, blocks_, clock_};
  EchoSession session_{desk_, port};
};

TEST_F(Session, AnswersAnyMethodAndPathWithPortNonceAndNames) {
  for (const std::string_view method : {"GET", "POST", "DELETE", "PURGE"}) {
    const std::string answer =
        give(std::string(method) + " /any/where?x=1 HTTP/1.1\r\nHost: a\r\nEbbgate-Canary: n-17\r\n\r\n");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(answer, HasSubstr("\r\nx-request-port: 8080\r\n"));
    EXPECT_THAT(answer, HasSubstr("\r\nebbgate-canary: n-17\r\n"));
    EXPECT_THAT(answer, HasSubstr("\r\nebbgate-canary-pod: canary-x\r\n"));
    EXPECT_THAT(answer, HasSubstr("\r\nebbgate-canary-node: worker-1\r\n"));
    EXPECT_TRUE(answer.ends_with("\r\n\r\nHealthcheck requested\n"));
  }
  EXPECT_EQ(session_.waiting(), Waiting::request);
  EXPECT_EQ(session_.turn(), 4u);
}

TEST_F(Session, SaysNothingOfANonceThatIsMissingOrTooLong) {
  EXPECT_THAT(give("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), Not(HasSubstr("ebbgate-canary:")));
  const std::string nonce(nonce_bytes_max + 1, 'n');
  EXPECT_THAT(give("GET / HTTP/1.1\r\nHost: a\r\nEbbgate-Canary: " + nonce + "\r\n\r\n"),
              Not(HasSubstr("ebbgate-canary:")));
}

TEST_F(Session, GivesTheSameAnswersHoweverTheRequestsAreSplit) {
  const std::string requests =
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
      "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
      "HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  const std::string whole = give(requests);
  EXPECT_EQ(session_.waiting(), Waiting::nothing);
  EXPECT_TRUE(whole.ends_with("Connection: close\r\n\r\n"));
  for (const std::size_t piece : {1, 2, 3, 17}) {
    EchoSession another(desk_, port);
    base::Chain out;
    for (std::size_t at = 0; at < requests.size(); at += piece) {
      another.take(blocks_.copy(std::string_view(requests).substr(at, piece)), clock_.now(), out);
    }
    EXPECT_EQ(text_of(std::move(out)), whole) << piece;
  }
}

TEST_F(Session, AnswersABodyThatAwaitsPermissionOnlyWhenItIsThere) {
  EXPECT_EQ(give("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"),
            "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_EQ(session_.waiting(), Waiting::rest_of_request);
  EXPECT_THAT(give("ab"), StartsWith("HTTP/1.1 200 OK"));
}

TEST_F(Session, RefusesWhatIsNoRequestAndEnds) {
  EXPECT_THAT(give("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_EQ(session_.waiting(), Waiting::nothing);
}

TEST_F(Session, EchoesAWebsocketAndTakesAnIncompleteHandshakeForARequest) {
  constexpr std::string_view upgrade =
      "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Ebbgate-Canary: n-18\r\nSec-WebSocket-Version: 13\r\n";
  EXPECT_THAT(give(std::string(upgrade) + "\r\n"), StartsWith("HTTP/1.1 200 OK"));  // no key
  const std::string answer = give(std::string(upgrade) + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n" +
                                  std::string("\x81\x81\0\0\0\0x", 7));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 101 Switching Protocols\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nsec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));  // RFC 6455 1.3
  EXPECT_THAT(answer, HasSubstr("\r\nebbgate-canary: n-18\r\n"));
  EXPECT_TRUE(answer.ends_with("\r\n\r\n\x81\x01x"));
  EXPECT_EQ(session_.waiting(), Waiting::tunnel);
  EXPECT_EQ(leave(), "\x88\x02\x03\xe9");
}

TEST_F(Session, LeavesAtOnceWhenIdleAndBehindTheAnswerWhenNot) {
  give("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HT");
  leave();
  EXPECT_EQ(session_.waiting(), Waiting::rest_of_request);
  EXPECT_THAT(give("TP/1.1\r\nHost: a\r\n\r\n"), HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_EQ(session_.waiting(), Waiting::nothing);

  EchoSession idle(desk_, port);
  base::Chain out;
  idle.take(blocks_.copy("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), clock_.now(), out);
  idle.leave(out);
  EXPECT_EQ(idle.waiting(), Waiting::nothing);
}

TEST_F(Session, LetsAConnectionWithoutARequestBringOneWhileItLeaves) {
  leave();
  EXPECT_EQ(session_.waiting(), Waiting::request);
  EXPECT_THAT(give("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), HasSubstr("\r\nConnection: close\r\n"));
}

// A client of HTTP/2 that faces the session.
class H2Client final : public wire::H2Listener {
 public:
  explicit H2Client(EchoSession& session, base::BlockPool& blocks) : session_(session), blocks_(blocks) {}

  wire::StreamId ask(wire::Method method, std::string_view word, std::string_view upgrade, bool ends) {
    static wire::RequestHead head;
    head.method = method;
    head.method_text = word;
    head.authority = "a";
    head.path = "/";
    head.upgrade = upgrade;
    head.framing = ends ? wire::Framing::none : wire::Framing::chunked;
    head.fields.clear();
    head.fields.add({.name = "ebbgate-canary", .value = "n-19"});
    return codec.request(head, "http", ends);
  }
  void send(wire::StreamId stream, std::string_view bytes) {
    base::Chain payload;
    payload.push(blocks_.copy(bytes));
    codec.send(stream, std::move(payload));
  }
  // Until neither side has anything to say.
  void carry() {
    for (;;) {
      base::Chain out;
      codec.collect(blocks_, out, 1 << 20);
      if (out.empty()) return;
      base::Chain back;
      while (!out.empty()) session_.take(out.pop_front(), base::Instant{}, back);
      give(std::move(back));
    }
  }
  void give(base::Chain back) {
    while (!back.empty()) codec.receive(back.pop_front(), base::Instant{});
  }

  void on_request(wire::StreamId, const wire::RequestHead&) override {}
  void on_request_refused(wire::StreamId, base::Cause, const char*) override {}
  void on_response(wire::StreamId, const wire::ResponseHead& head) override {
    status = head.status;
    fields.clear();
    for (const wire::Field& field : head.fields.all())
      fields += std::string(field.name) + "=" + std::string(field.value) + ";";
  }
  void on_payload(wire::StreamId stream, base::Slice bytes) override {
    body += bytes.view();
    if (reads) codec.consumed(stream, bytes.size());
  }
  void on_whole(wire::StreamId, std::string_view) override { whole += 1; }
  void on_stream_failed(wire::StreamId, base::Cause, bool) override { failed += 1; }
  void on_stream_drained(wire::StreamId) override {}
  void on_ping_answered() override {}
  void on_going_away() override { going_away = true; }

 private:
  EchoSession& session_;
  base::BlockPool& blocks_;

 public:
  wire::H2Session codec{wire::H2Session::Role::client, {}, *this};
  int status = 0;
  int whole = 0;
  int failed = 0;
  bool going_away = false;
  bool reads = true;
  std::string body;
  std::string fields;
};

TEST_F(Session, SpeaksHttp2WithPriorKnowledge) {
  H2Client client(session_, blocks_);
  client.ask(wire::Method::get, "GET", "", true);
  client.carry();
  EXPECT_EQ(client.status, 200);
  EXPECT_EQ(client.body, "Healthcheck requested\n");
  EXPECT_EQ(client.whole, 1);
  EXPECT_THAT(client.fields, HasSubstr("x-request-port=8080;ebbgate-canary=n-19;"));
  EXPECT_EQ(session_.waiting(), Waiting::request);

  const wire::StreamId upload = client.ask(wire::Method::post, "POST", "", false);
  client.send(upload, std::string(200'000, 'x'));
  client.carry();
  EXPECT_EQ(client.whole, 1);
  EXPECT_EQ(session_.waiting(), Waiting::rest_of_request);
  client.codec.finish(upload, {});
  client.carry();
  EXPECT_EQ(client.whole, 2);
  EXPECT_EQ(session_.waiting(), Waiting::request);
}

TEST_F(Session, EchoesAWebsocketOverHttp2) {
  H2Client client(session_, blocks_);
  client.carry();  // SETTINGS must have come before an extended CONNECT is allowed
  const wire::StreamId tunnel = client.ask(wire::Method::connect, "CONNECT", "websocket", false);
  client.carry();
  EXPECT_EQ(client.status, 200);
  EXPECT_EQ(session_.waiting(), Waiting::tunnel);
  client.send(tunnel, std::string_view("\x81\x81\0\0\0\0x", 7));
  client.carry();
  EXPECT_EQ(client.body, "\x81\x01x");
  client.send(tunnel, std::string_view("\x88\x80\0\0\0\0", 6));
  client.carry();
  EXPECT_EQ(client.whole, 1);
}

TEST_F(Session, DoesNotReadFromAWebsocketWhoseEchoIsNotRead) {
  H2Client client(session_, blocks_);
  client.reads = false;
  client.carry();
  const wire::StreamId tunnel = client.ask(wire::Method::connect, "CONNECT", "websocket", false);
  client.carry();
  // One endless frame.
  client.send(tunnel, std::string_view("\x82\xff\0\0\0\0\x7f\0\0\0\0\0\0\0", 14));
  for (int i = 0; i < 100; ++i) {
    client.send(tunnel, std::string(16'000, 'x'));
    client.carry();
  }
  EXPECT_GT(client.codec.unsent(tunnel), 1'000'000u);
}

TEST_F(Session, GoesAwayFromHttp2WhenItsStreamsHaveEnded) {
  H2Client client(session_, blocks_);
  const wire::StreamId upload = client.ask(wire::Method::post, "POST", "", false);
  client.carry();
  base::Chain out;
  session_.leave(out);
  client.give(std::move(out));
  client.carry();
  EXPECT_TRUE(client.going_away);
  EXPECT_EQ(session_.waiting(), Waiting::rest_of_request);
  client.codec.finish(upload, {});
  client.carry();
  EXPECT_EQ(client.whole, 1);
  EXPECT_EQ(client.failed, 0);
  EXPECT_EQ(session_.waiting(), Waiting::nothing);
}

}  // namespace
}  // namespace ebb::canary
