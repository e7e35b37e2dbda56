#include "canary/dialogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ebb::canary {
namespace {

using testing::HasSubstr;
using Step = Dialogue::Step;

class DialogueTest : public testing::Test {
 protected:
  std::unique_ptr<Dialogue> make(Protocol protocol) {
    return make_dialogue(protocol, {"canary.example.com:8443", "/healthz", "n1", true}, random_);
  }
  std::string begin(Dialogue& dialogue) {
    base::Chain out;
    EXPECT_EQ(dialogue.begin(pool_, out), Step::waiting);
    return text(out);
  }
  Step take(Dialogue& dialogue, std::string_view bytes, std::string* answer = nullptr) {
    base::Chain out;
    const Step step = dialogue.take(pool_, pool_.copy(bytes), {}, out);
    if (answer != nullptr) *answer += text(out);
    return step;
  }
  static std::string text(base::Chain& chain) {
    std::string all;
    while (!chain.empty()) all += chain.pop_front().view();
    return all;
  }
  static constexpr std::string_view answer_text =
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nEbbgate-Canary: n1\r\nX-Request-Port: 8080\r\n"
      "Ebbgate-Canary-Pod: p\r\nEbbgate-Canary-Node: n\r\nEbbgate-Generation: 3\r\n\r\nhello";

  base::BlockPool pool_;
  base::Rng random_{1};
};

TEST_F(DialogueTest, RequestSaysWhoAsks) {
  const auto fresh = make(Protocol::http1_fresh);
  EXPECT_EQ(begin(*fresh),
            "GET /healthz HTTP/1.1\r\nHost: canary.example.com:8443\r\nUser-Agent: ebbgate-canary\r\nAccept: */*\r\n"
            "Ebbgate-Canary: n1\r\nConnection: close\r\n\r\n");
  const auto reused = make(Protocol::http1_reused);
  EXPECT_THAT(begin(*reused), Not(HasSubstr("Connection")));
}

TEST_F(DialogueTest, AnswerIsTheSameWhereverItIsSplit) {
  for (std::size_t at = 1; at < answer_text.size(); ++at) {
    const auto dialogue = make(Protocol::http1_reused);
    begin(*dialogue);
    EXPECT_EQ(take(*dialogue, answer_text.substr(0, at)), Step::waiting) << at;
    ASSERT_EQ(take(*dialogue, answer_text.substr(at)), Step::complete) << at;
    const Answer& answer = dialogue->answer();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.nonce, "n1");
    EXPECT_EQ(answer.port, "8080");
    EXPECT_EQ(answer.pod, "p");
    EXPECT_EQ(answer.node, "n");
    EXPECT_EQ(answer.generation, "3");
    EXPECT_EQ(answer.body, "hello");
    EXPECT_TRUE(dialogue->reusable());
  }
}

TEST_F(DialogueTest, InterimAnswersAreSkipped) {
  const auto dialogue = make(Protocol::http1_fresh);
  EXPECT_EQ(take(*dialogue, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"), Step::waiting);
  EXPECT_EQ(take(*dialogue, answer_text), Step::complete);
  EXPECT_EQ(dialogue->answer().status, 200);
}

TEST_F(DialogueTest, ConnectionWithLeftoversIsNotUsedAgain) {
  const auto dialogue = make(Protocol::http1_reused);
  EXPECT_EQ(take(*dialogue, std::string(answer_text) + "H"), Step::complete);
  EXPECT_FALSE(dialogue->reusable());
}

TEST_F(DialogueTest, ConnectionThatTheServerClosesIsNotUsedAgain) {
  const auto dialogue = make(Protocol::http1_reused);
  EXPECT_EQ(take(*dialogue, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"), Step::complete);
  EXPECT_FALSE(dialogue->reusable());
}

TEST_F(DialogueTest, LongBodyIsReadButNotKept) {
  const auto dialogue = make(Protocol::http1_fresh);
  take(*dialogue, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
  EXPECT_EQ(take(*dialogue, std::string(99999, 'x')), Step::waiting);
  EXPECT_EQ(take(*dialogue, "x"), Step::complete);
  EXPECT_EQ(dialogue->answer().body.size(), Dialogue::body_bytes_max);
}

TEST_F(DialogueTest, EndOfTheConnectionIsTheEndOfABodyWithoutLength) {
  const auto whole = make(Protocol::http1_fresh);
  take(*whole, "HTTP/1.1 200 OK\r\n\r\nhello");
  EXPECT_EQ(whole->finished(true), Step::complete);
  const auto cut = make(Protocol::http1_fresh);
  take(*cut, "HTTP/1.1 200 OK\r\n\r\nhello");
  EXPECT_EQ(cut->finished(false), Step::failed) << "TLS did not say that this is all";
  EXPECT_EQ(cut->failure().fault, Fault::truncated);
}

TEST_F(DialogueTest, EarlyEndSaysHowFarItCame) {
  const auto detail = [this](std::string_view bytes) {
    const auto dialogue = make(Protocol::http1_fresh);
    if (!bytes.empty()) take(*dialogue, bytes);
    EXPECT_EQ(dialogue->finished(true), Step::failed);
    EXPECT_EQ(dialogue->failure().fault, Fault::truncated);
    return dialogue->failure().detail;
  };
  EXPECT_EQ(detail(""), "closed without an answer");
  EXPECT_EQ(detail("HTTP/1.1 2"), "closed within the answer's head");
  EXPECT_EQ(detail("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell"), "closed within the answer's body");
}

TEST_F(DialogueTest, WhatIsNoHttpIsMalformed) {
  for (const Protocol protocol : {Protocol::http1_fresh, Protocol::websocket, Protocol::h2}) {
    const auto dialogue = make(protocol);
    begin(*dialogue);
    EXPECT_EQ(take(*dialogue, "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3 and some more\r\n\r\n"), Step::failed);
    EXPECT_EQ(dialogue->failure().fault, Fault::malformed) << name(protocol);
  }
}

TEST_F(DialogueTest, WebsocketWithTheWrongAcceptIsMalformed) {
  const auto dialogue = make(Protocol::websocket);
  begin(*dialogue);
  EXPECT_EQ(take(*dialogue,
                 "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                 "Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n"),
            Step::failed);
  EXPECT_EQ(dialogue->failure().fault, Fault::malformed);
}

TEST_F(DialogueTest, WebsocketThatIsRefusedIsAnAnswer) {
  const auto dialogue = make(Protocol::websocket);
  begin(*dialogue);
  EXPECT_EQ(take(*dialogue, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 99\r\n\r\n"), Step::complete);
  EXPECT_EQ(dialogue->answer().status, 503);
}

}  // namespace
}  // namespace ebb::canary
