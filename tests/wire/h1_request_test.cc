#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/h1_corpus.h"
#include "wire/h1_head.h"

namespace ebb::wire {
namespace {

using base::Cause;
using Status = Parsed::Status;

struct Read {
  explicit Read(std::string text, const HeadLimits& limits = {}) : bytes(std::move(text)) {
    parsed = parse_request(bytes, limits, head);
  }
  std::string bytes;
  RequestHead head;
  Parsed parsed;
};

TEST(H1Request, ReadsTheCorpusWithItsVerdicts) {
  for (const corpus::Sample& sample : corpus::requests()) {
    SCOPED_TRACE(sample.name);
    const Read read(sample.bytes);
    const bool accepted = sample.cause == Cause::completed;
    EXPECT_EQ(read.parsed.status, accepted ? Status::complete : Status::refused) << read.parsed.why;
    EXPECT_EQ(read.parsed.cause, sample.cause) << read.parsed.why;
    if (accepted) EXPECT_EQ(read.parsed.consumed, sample.bytes.size());
    if (!accepted) EXPECT_STRNE(read.parsed.why, "");
  }
}

TEST(H1Request, GivesTheLineAndTheFields) {
  const Read read("POST /a?b=c HTTP/1.1\r\nHost: h:81\r\nX-One:  1 \r\nContent-Length: 12\r\n\r\nbody");
  ASSERT_EQ(read.parsed.status, Status::complete);
  EXPECT_EQ(read.parsed.consumed, read.bytes.size() - 4);
  EXPECT_EQ(read.head.method, Method::post);
  EXPECT_EQ(read.head.method_text, "POST");
  EXPECT_EQ(read.head.target, "/a?b=c");
  EXPECT_EQ(read.head.path, "/a?b=c");
  EXPECT_EQ(read.head.authority, "h:81");
  EXPECT_EQ(read.head.framing, Framing::length);
  EXPECT_EQ(read.head.content_length, 12u);
  ASSERT_EQ(read.head.fields.size(), 3u);
  EXPECT_EQ(read.head.fields.find("x-one")->value, "1");
  EXPECT_EQ(read.head.fields.find(FieldId::content_length)->name, "Content-Length");
  EXPECT_EQ(read.head.fields.find("x-two"), nullptr);
  EXPECT_EQ(read.head.fields.find(FieldId::te), nullptr);
}

TEST(H1Request, KnowsEachFieldInAnyCase) {
#define X(id, text) {FieldId::id, text},
  const std::vector<std::pair<FieldId, std::string>> known = {EBB_FIELDS(X)};
#undef X
  for (const auto& [id, name] : known) {
    const std::string value = id == FieldId::content_length      ? "1"
                              : id == FieldId::transfer_encoding ? "chunked"
                              : id == FieldId::expect            ? "100-continue"
                                                                 : "a";
    std::string capitals = name;
    for (char& c : capitals) c = static_cast<char>(std::toupper(c));
    for (const std::string& spelled : {name, capitals}) {
      const std::string host = id == FieldId::host ? "" : "Host: a\r\n";
      const Read read("GET / HTTP/1.1\r\n" + host + spelled + ": " + value + "\r\n\r\n");
      ASSERT_EQ(read.parsed.status, Status::complete) << spelled << ": " << read.parsed.why;
      EXPECT_EQ(read.head.fields.all().back().id, id) << spelled;
    }
    const Read longer("GET / HTTP/1.1\r\nHost: a\r\n" + name + "x: 1\r\n" + "y" + name.substr(1) + ": 1\r\n\r\n");
    for (const Field& field : longer.head.fields.all().subspan(1)) EXPECT_EQ(field.id, FieldId::other) << field.name;
  }
}

TEST(H1Request, TakesTheAuthorityOfTheAbsoluteForm) {
  const Read read("GET HTTP://b.example:8080/x?y HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(read.head.authority, "b.example:8080");
  EXPECT_EQ(read.head.path, "/x?y");
  EXPECT_EQ(Read("GET http://b HTTP/1.1\r\nHost: a\r\n\r\n").head.path, "/");
  EXPECT_EQ(Read("OPTIONS http://b HTTP/1.1\r\nHost: a\r\n\r\n").head.path, "*");
}

TEST(H1Request, DecidesKeepAliveByVersionAndConnection) {
  EXPECT_TRUE(Read("GET / HTTP/1.1\r\nHost: a\r\n\r\n").head.keep_alive);
  EXPECT_FALSE(Read("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n").head.keep_alive);
  EXPECT_FALSE(Read("GET / HTTP/1.0\r\n\r\n").head.keep_alive);
  EXPECT_TRUE(Read("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").head.keep_alive);
  EXPECT_FALSE(Read("GET / HTTP/1.0\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n").head.keep_alive);
}

TEST(H1Request, MarksHopByHopFieldsByNameAndByNomination) {
  const Read read(
      "GET / HTTP/1.1\r\nX-Later: 1\r\nHost: a\r\nConnection: x-hop, ,X-Later\r\nX-Hop: 1\r\nX-End: 1\r\n"
      "Keep-Alive: 5\r\nProxy-Connection: close\r\nTE: gzip\r\nUpgrade: x\r\nTrailer: y\r\n"
      "Proxy-Authorization: z\r\n\r\n");
  ASSERT_EQ(read.parsed.status, Status::complete) << read.parsed.why;
  for (const char* name : {"x-later", "connection", "x-hop", "keep-alive", "proxy-connection", "te", "upgrade"}) {
    EXPECT_TRUE(read.head.fields.find(name)->hop) << name;
  }
  for (const char* name : {"host", "x-end", "trailer", "proxy-authorization"}) {
    EXPECT_FALSE(read.head.fields.find(name)->hop) << name;
  }
  EXPECT_TRUE(read.head.keep_alive) << "Proxy-Connection is not Connection";
}

TEST(H1Request, RefusesMoreConnectionOptionsThanAnyoneNeeds) {
  std::string options;
  for (int i = 0; i < 33; ++i) options += "o" + std::to_string(i) + ",";
  EXPECT_EQ(Read("GET / HTTP/1.1\r\nHost: a\r\nConnection: " + options + "\r\n\r\n").parsed.cause,
            Cause::client_bad_request);
}

TEST(H1Request, RecognisesUpgradeOnlyWhereConnectionNamesItInHttp11) {
  const std::string fields = "\r\nHost: a\r\nUpgrade: websocket\r\nConnection: ";
  EXPECT_EQ(Read("GET / HTTP/1.1" + fields + "Upgrade\r\n\r\n").head.upgrade, "websocket");
  EXPECT_EQ(Read("GET / HTTP/1.1" + fields + "close\r\n\r\n").head.upgrade, "");
  EXPECT_EQ(Read("GET / HTTP/1.0" + fields + "Upgrade\r\n\r\n").head.upgrade, "");
}

TEST(H1Request, DoesNotPassOnAnOfferOfH2c) {
  const Read read(
      "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket, h2c\r\nConnection: upgrade, http2-settings\r\n"
      "HTTP2-Settings: x\r\n\r\n");
  EXPECT_EQ(read.head.upgrade, "");
  EXPECT_TRUE(read.head.fields.find("http2-settings")->hop);
}

TEST(H1Request, ExpectsContinueOnlyInHttp11AndWithContent) {
  const std::string rest = "\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: ";
  EXPECT_TRUE(Read("POST / HTTP/1.1" + rest + "5\r\n\r\n").head.expect_continue);
  EXPECT_FALSE(Read("POST / HTTP/1.1" + rest + "0\r\n\r\n").head.expect_continue);
  const Read old("POST / HTTP/1.0" + rest + "5\r\n\r\n");
  EXPECT_FALSE(old.head.expect_continue);
  EXPECT_TRUE(old.head.fields.find(FieldId::expect)->hop) << "ignored, hence not sent on";
}

TEST(H1Request, ReadsTeTrailers) {
  EXPECT_TRUE(Read("GET / HTTP/1.1\r\nHost: a\r\nTE: gzip, Trailers\r\n\r\n").head.te_trailers);
  EXPECT_FALSE(Read("GET / HTTP/1.1\r\nHost: a\r\nTE: gzip\r\n\r\n").head.te_trailers);
}

TEST(H1Request, AcceptsAHeadOfExactlyTheLimitAndRefusesOneByteMore) {
  const std::string head = "GET / HTTP/1.1\r\nHost: a\r\nX: 12345\r\n\r\n";
  HeadLimits limits;
  limits.head_bytes = static_cast<std::uint32_t>(head.size());
  EXPECT_EQ(Read(head + "body", limits).parsed.status, Status::complete);
  limits.head_bytes -= 1;
  EXPECT_EQ(Read(head, limits).parsed.cause, Cause::client_head_too_large);
  EXPECT_EQ(Read(head.substr(0, head.size() - 2), limits).parsed.status, Status::incomplete);
  EXPECT_EQ(Read(head.substr(0, head.size() - 1), limits).parsed.cause, Cause::client_head_too_large);
}

TEST(H1Request, RefusesALongTargetBeforeItsEndIsSeen) {
  HeadLimits limits;
  limits.target_bytes = 10;
  EXPECT_EQ(Read("GET /234567890 HTTP/1.1\r\nHost: a\r\n\r\n", limits).parsed.status, Status::complete);
  EXPECT_EQ(Read("GET /2345678901", limits).parsed.cause, Cause::client_uri_too_long);
  limits.head_bytes = 8;
  EXPECT_EQ(Read("GET /234", limits).parsed.cause, Cause::client_uri_too_long);
}

TEST(H1Request, CountsFields) {
  HeadLimits limits;
  limits.fields = 2;
  EXPECT_EQ(Read("GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n\r\n", limits).parsed.status, Status::complete);
  EXPECT_EQ(Read("GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\nY: 1\r\n", limits).parsed.cause, Cause::client_head_too_large);
  limits = {.head_bytes = 1 << 20, .fields = 1000};
  std::string many = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (std::size_t i = 1; i < fields_max; ++i) many += "X: 1\r\n";
  EXPECT_EQ(Read(many + "\r\n", limits).parsed.status, Status::complete);
  EXPECT_EQ(Read(many + "X: 1\r\n", limits).parsed.cause, Cause::client_head_too_large);
}

TEST(H1Request, IgnoresAFloodOfEmptyLinesOnlyUpToTheLimit) {
  std::string flood;
  while (flood.size() < HeadLimits{}.head_bytes) flood += "\r\n";
  EXPECT_EQ(Read(flood).parsed.cause, Cause::client_head_too_large);
}

TEST(H1Request, RefusesAnOffendingLineBeforeTheHeadIsComplete) {
  EXPECT_EQ(Read("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n").parsed.cause,
            Cause::client_bad_request);
  EXPECT_EQ(Read("GET / HTTP/1.1\r\nHost: a\r\nX: \x01").parsed.cause, Cause::client_bad_request);
  EXPECT_EQ(Read("GET / HTTP/1.1\n").parsed.cause, Cause::client_bad_request);
}

TEST(H1Request, ForgetsWhatAnEarlierHeadSaid) {
  RequestHead head;
  parse_request(
      "POST http://b/ HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nExpect: 100-continue\r\nContent-Length: 5\r\n"
      "Connection: close, upgrade\r\nUpgrade: x\r\n\r\n",
      {}, head);
  const std::string plain = "GET / HTTP/1.1\r\nHost: c\r\n\r\n";
  parse_request(plain, {}, head);
  EXPECT_EQ(head.authority, "c");
  EXPECT_EQ(head.framing, Framing::none);
  EXPECT_EQ(head.content_length, 0u);
  EXPECT_TRUE(head.keep_alive);
  EXPECT_FALSE(head.expect_continue || head.te_trailers);
  EXPECT_EQ(head.upgrade, "");
  EXPECT_EQ(head.fields.size(), 1u);
}

TEST(H1Request, FindsTokensInListsWithoutRegardToCase) {
  EXPECT_TRUE(list_has_token("a, B ,c", "b"));
  EXPECT_FALSE(list_has_token("ab, bc", "b"));
  EXPECT_FALSE(list_has_token("", "b"));
  EXPECT_TRUE(equals_ignoring_case("Ab-1", "aB-1"));
  EXPECT_FALSE(equals_ignoring_case("@", "`"));
}

}  // namespace
}  // namespace ebb::wire
