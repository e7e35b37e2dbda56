#include <gtest/gtest.h>

#include "wire/h1_corpus.h"
#include "wire/h1_head.h"

namespace ebb::wire {
namespace {

using base::Cause;
using Status = Parsed::Status;

struct Read {
  explicit Read(std::string text, Method method = Method::get, const HeadLimits& limits = {}) : bytes(std::move(text)) {
    parsed = parse_response(bytes, limits, method, head);
  }
  std::string bytes;
  ResponseHead head;
  Parsed parsed;
};

TEST(H1Response, ReadsTheCorpusWithItsVerdicts) {
  for (const corpus::Sample& sample : corpus::responses()) {
    SCOPED_TRACE(sample.name);
    const Read read(sample.bytes);
    const bool accepted = sample.cause == Cause::completed;
    EXPECT_EQ(read.parsed.status, accepted ? Status::complete : Status::refused) << read.parsed.why;
    EXPECT_EQ(read.parsed.cause, sample.cause) << read.parsed.why;
    if (accepted) EXPECT_EQ(read.parsed.consumed, sample.bytes.size());
  }
}

TEST(H1Response, GivesTheStatusLine) {
  const Read read("HTTP/1.0 404 Not here \r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(read.head.status, 404);
  EXPECT_EQ(read.head.reason, "Not here ");
  EXPECT_EQ(read.head.minor, 0);
  EXPECT_EQ(Read("HTTP/1.1 200\r\n\r\n").head.reason, "");
}

TEST(H1Response, FramesAsRfc9112Section63Says) {
  const std::string length = "Content-Length: 7\r\n\r\n";
  const std::string chunked = "Transfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(Read("HTTP/1.1 200 OK\r\n" + length).head.framing, Framing::length);
  EXPECT_EQ(Read("HTTP/1.1 200 OK\r\n" + chunked).head.framing, Framing::chunked);
  EXPECT_EQ(Read("HTTP/1.1 200 OK\r\n\r\n").head.framing, Framing::until_close);
  EXPECT_EQ(Read("HTTP/1.1 204 No Content\r\n\r\n").head.framing, Framing::none);
  EXPECT_EQ(Read("HTTP/1.1 304 Not Modified\r\n" + length).head.framing, Framing::none);
  EXPECT_EQ(Read("HTTP/1.1 304 Not Modified\r\n" + chunked).head.framing, Framing::none);
  EXPECT_EQ(Read("HTTP/1.1 200 OK\r\n" + length, Method::head).head.framing, Framing::none);
  EXPECT_EQ(Read("HTTP/1.1 200 OK\r\n" + chunked, Method::head).head.framing, Framing::none);
  EXPECT_EQ(Read("HTTP/1.1 200 OK\r\n\r\n", Method::head).head.framing, Framing::none);
}

TEST(H1Response, KeepsTheLengthThatDescribesABodyThatDoesNotCome) {
  const Read head("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", Method::head);
  EXPECT_TRUE(head.head.has_length);
  EXPECT_EQ(head.head.content_length, 7u);
  EXPECT_FALSE(Read("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n").head.has_length);
}

TEST(H1Response, DoesNotKeepAConnectionWhoseEndIsTheEndOfTheBody) {
  EXPECT_FALSE(Read("HTTP/1.1 200 OK\r\n\r\n").head.keep_alive);
  EXPECT_TRUE(Read("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").head.keep_alive);
  EXPECT_FALSE(Read("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n").head.keep_alive);
  EXPECT_TRUE(Read("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n").head.keep_alive);
}

TEST(H1Response, KnowsInterimResponses) {
  EXPECT_TRUE(Read("HTTP/1.1 100 Continue\r\n\r\n").head.interim());
  EXPECT_TRUE(Read("HTTP/1.1 103 Early Hints\r\n\r\n").head.interim());
  const Read switching("HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  EXPECT_FALSE(switching.head.interim());
  EXPECT_EQ(switching.head.upgrade, "websocket");
}

TEST(H1Response, RefusesAHeadBeyondTheLimitAsTheBackendsFault) {
  HeadLimits limits;
  limits.head_bytes = 30;
  EXPECT_EQ(Read("HTTP/1.1 200 OK\r\nX: 1234567890", Method::get, limits).parsed.cause, Cause::backend_bad_response);
  limits = {.fields = 1};
  EXPECT_EQ(Read("HTTP/1.1 200 OK\r\nX: 1\r\nY: 1\r\n", Method::get, limits).parsed.cause, Cause::backend_bad_response);
}

TEST(H1Response, ReadsHowLongAnIdleConnectionIsKept) {
  const auto seconds = [](const std::string& value) {
    ResponseHead head;
    const std::string bytes = "HTTP/1.1 204 No Content\r\nKeep-Alive: " + value + "\r\n\r\n";
    EXPECT_EQ(parse_response(bytes, {}, Method::get, head).status, Parsed::Status::complete) << value;
    return head.idle_seconds;
  };
  EXPECT_EQ(seconds("timeout=5, max=1000"), 5u);
  EXPECT_EQ(seconds("max=1000, Timeout=75"), 75u);
  EXPECT_EQ(seconds("timeout=99999999999"), 86'400u);
  for (const char* unreadable : {"", "300", "timeout=", "timeout=-1", "timeout=5s", "max=5"}) {
    EXPECT_EQ(seconds(unreadable), 0u) << unreadable;
  }
}

}  // namespace
}  // namespace ebb::wire
