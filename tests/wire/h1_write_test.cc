#include "wire/h1_write.h"

#include <gtest/gtest.h>

#include "wire/h1_corpus.h"

namespace ebb::wire {
namespace {

using Status = Parsed::Status;

class H1Write : public ::testing::Test {
 protected:
  ~H1Write() override { EXPECT_EQ(pool.bytes_in_use(), 0u); }

  std::string request(const std::string& bytes) {
    const Parsed parsed = parse_request(bytes, {}, request_head);
    EXPECT_EQ(parsed.status, Status::complete) << parsed.why;
    return std::string(write_request(pool, request_head, forwarding).text().view());
  }
  std::string response(const std::string& bytes, const ResponsePlan& plan = {}, Method method = Method::get) {
    const Parsed parsed = parse_response(bytes, {}, method, response_head);
    EXPECT_EQ(parsed.status, Status::complete) << parsed.why;
    return std::string(write_response(pool, response_head, plan).view());
  }

  base::BlockPool pool;
  RequestHead request_head;
  ResponseHead response_head;
  Forwarding forwarding{.client_host = "10.0.0.9", .scheme = "http", .port = 8080};
};

const std::string ours =
    "X-Forwarded-For: 10.0.0.9\r\nX-Forwarded-Host: a\r\nX-Forwarded-Port: 8080\r\nX-Forwarded-Proto: http\r\n"
    "Forwarded: for=10.0.0.9;host=\"a\";proto=http\r\n\r\n";

TEST_F(H1Write, WritesHostFirstAndOurFieldsLast) {
  EXPECT_EQ(request("GET /x HTTP/1.1\r\nAccept:  */* \r\nhost: a\r\nB:\r\n\r\n"),
            "GET /x HTTP/1.1\r\nHost: a\r\nAccept: */*\r\nB: \r\n" + ours);
}

TEST_F(H1Write, LeavesHopByHopFieldsBehind) {
  EXPECT_EQ(request("GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, x-hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\n"
                    "Proxy-Connection: x\r\nUpgrade: websocket\r\nX-End: 1\r\n\r\n"),
            "GET / HTTP/1.1\r\nHost: a\r\nX-End: 1\r\n" + ours);
}

// Behind CGI an underscore is a dash (RFC 3875 4.1.18), for some servers every mark is: such a field would be taken for
// the one that we write or that frames the message.
TEST_F(H1Write, LeavesTwinsOfKnownNamesBehind) {
  for (const char* name :
       {"X_Forwarded_For", "x-forwarded_for", "X_FORWARDED_HOST", "X_Forwarded-Port", "X.Forwarded.Proto",
        "Transfer_Encoding", "transfer.encoding", "Content_Length", "CONTENT~LENGTH", "Keep_Alive", "Proxy_Connection",
        "X_Real_IP", "Max_Forwards", "X_Client_Certificate_Subject", "X.Client.Certificate-Verified"}) {
    EXPECT_EQ(request("GET / HTTP/1.1\r\nHost: a\r\n" + std::string(name) + ": 1\r\n\r\n"),
              "GET / HTTP/1.1\r\nHost: a\r\n" + ours)
        << name;
  }
  for (const char* name : {"User_Agent", "X_Forwarded", "X_Forwarded_Forx", "Content0Length", "X_Tenant"}) {
    EXPECT_EQ(request("GET / HTTP/1.1\r\nHost: a\r\n" + std::string(name) + ": 1\r\n\r\n"),
              "GET / HTTP/1.1\r\nHost: a\r\n" + std::string(name) + ": 1\r\n" + ours)
        << name;
  }
}

TEST_F(H1Write, LeavesXRealIpOfClientsBehindAndKeepsATrustedProxys) {
  const std::string asked = "GET / HTTP/1.1\r\nHost: a\r\nX-Real-IP: 1.1.1.1\r\n\r\n";
  EXPECT_EQ(request(asked), "GET / HTTP/1.1\r\nHost: a\r\n" + ours);
  forwarding.trusted = true;
  EXPECT_EQ(request(asked), "GET / HTTP/1.1\r\nHost: a\r\nX-Real-IP: 1.1.1.1\r\n" + ours);
  forwarding.trusted = false;
  forwarding.mode = ForwardingMode::never;
  EXPECT_EQ(request(asked), asked);
}

TEST_F(H1Write, BelievesTheLastLineOfATrustedProxyNotWhatItsClientPutBefore) {
  forwarding.trusted = true;
  EXPECT_TRUE(request("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Proto: http\r\n"
                      "X-Forwarded-Host: evil\r\nX-Forwarded-Host: good\r\n\r\n")
                  .contains("X-Forwarded-Host: good\r\nX-Forwarded-Port: 8080\r\nX-Forwarded-Proto: http\r\n"));
}

TEST_F(H1Write, AddsViaLastWhereAsked) {
  forwarding.via = "edge";
  forwarding.via_version = "1.1";
  EXPECT_TRUE(
      request("GET / HTTP/1.1\r\nHost: a\r\nVia: 1.0 cdn\r\n\r\n").ends_with("proto=http\r\nVia: 1.1 edge\r\n\r\n"));
}

TEST_F(H1Write, KeepsTheFraming) {
  EXPECT_EQ(request("POST / HTTP/1.1\r\nContent-Length: 007\r\nHost: a\r\nExpect: 100-continue\r\n\r\n"),
            "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 7\r\n" + ours);
  EXPECT_EQ(request("POST / HTTP/1.1\r\nHost: a\r\ntransfer-encoding: CHUNKED\r\nTrailer: X-Sum\r\n\r\n"),
            "POST / HTTP/1.1\r\nHost: a\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n" + ours);
}

TEST_F(H1Write, SendsUpgradeAndTeWithTheirConnectionOption) {
  EXPECT_EQ(request("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"),
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n" + ours);
  EXPECT_EQ(request("GET / HTTP/1.1\r\nHost: a\r\nTE: gzip, trailers\r\n\r\n"),
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: TE\r\nTE: trailers\r\n" + ours);
  EXPECT_EQ(request("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, TE\r\nUpgrade: x\r\nTE: trailers\r\n\r\n"),
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade, TE\r\nUpgrade: x\r\nTE: trailers\r\n" + ours);
}

TEST_F(H1Write, AppendsToTheTraceAndReplacesTheRest) {
  EXPECT_EQ(request("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1.1.1.1\r\nX-Forwarded-Proto: https\r\n"
                    "X-Forwarded-Host: evil\r\nX-Forwarded-Port: 1\r\nForwarded: for=2.2.2.2\r\n"
                    "X-Forwarded-For: 3.3.3.3\r\n\r\n"),
            "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1.1.1.1, 3.3.3.3, 10.0.0.9\r\nX-Forwarded-Host: a\r\n"
            "X-Forwarded-Port: 8080\r\nX-Forwarded-Proto: http\r\n"
            "Forwarded: for=2.2.2.2, for=10.0.0.9;host=\"a\";proto=http\r\n\r\n");
}

TEST_F(H1Write, DropsAForwardedValueWhoseOpenQuoteWouldSwallowOurs) {
  EXPECT_EQ(request("GET / HTTP/1.1\r\nHost: a\r\nForwarded: for=\"x\\\"\r\n\r\n"),
            "GET / HTTP/1.1\r\nHost: a\r\n" + ours);
  EXPECT_TRUE(request("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: \"x\r\n\r\n").contains("For: \"x, 10.0.0.9\r\n"));
}

const std::string claims =
    "X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-Host: h\r\nX-Forwarded-Port: 1\r\nX-Forwarded-Proto: https\r\n"
    "Forwarded: for=2.2.2.2\r\n";

TEST_F(H1Write, ReplacesWhatWasForwarded) {
  forwarding.mode = ForwardingMode::replace;
  forwarding.trusted = true;  // asked to replace, it replaces everybody's
  EXPECT_EQ(request("GET / HTTP/1.1\r\nHost: a\r\n" + claims + "\r\n"), "GET / HTTP/1.1\r\nHost: a\r\n" + ours);
}

TEST_F(H1Write, PassesWhatWasForwardedWhenItMayNotAdd) {
  forwarding.mode = ForwardingMode::never;
  EXPECT_EQ(request("GET / HTTP/1.1\r\nHost: a\r\n" + claims + "\r\n"),
            "GET / HTTP/1.1\r\nHost: a\r\n" + claims + "\r\n");
  EXPECT_EQ(request("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
}

TEST_F(H1Write, AddsForwardingOnlyWhereThereIsNone) {
  forwarding.mode = ForwardingMode::if_none;
  EXPECT_EQ(request("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), "GET / HTTP/1.1\r\nHost: a\r\n" + ours);
  EXPECT_EQ(request("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-Proto: https\r\n\r\n"),
            "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-Proto: https\r\n\r\n");
}

TEST_F(H1Write, KeepsWhatATrustedProxySaysAboutThePlace) {
  forwarding.trusted = true;
  EXPECT_EQ(request("GET / HTTP/1.1\r\nHost: a\r\n" + claims + "\r\n"),
            "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1.1.1.1, 10.0.0.9\r\nX-Forwarded-Host: h\r\n"
            "X-Forwarded-Port: 1\r\nX-Forwarded-Proto: https\r\n"
            "Forwarded: for=2.2.2.2, for=10.0.0.9;host=\"a\";proto=http\r\n\r\n");
}

TEST_F(H1Write, ForwardsTheHostThatTheClientAskedFor) {
  forwarding.host = "shop:80";
  const std::string written = request("GET / HTTP/1.1\r\nHost: inside\r\n\r\n");
  EXPECT_TRUE(written.starts_with("GET / HTTP/1.1\r\nHost: inside\r\n"));
  EXPECT_TRUE(written.contains("X-Forwarded-Host: shop:80\r\n")) << written;
  EXPECT_TRUE(written.contains(";host=\"shop:80\"")) << written;
}

TEST_F(H1Write, LeavesForwardingFieldsAlone) {
  forwarding.left_alone = set_of(FieldId::x_forwarded_for) | set_of(FieldId::x_forwarded_host) |
                          set_of(FieldId::x_forwarded_port) | set_of(FieldId::forwarded);
  EXPECT_EQ(request("GET / HTTP/1.1\r\nHost: a\r\n" + claims + "\r\n"),
            "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-Proto: http\r\n\r\n");
}

TEST_F(H1Write, TellsOfTheClientsCertificateAndLetsNobodyElse) {
  const PeerCertificate certificate{true, "ab12", "CN=Ann,O=Ebb", "CN=Authority", "0F"};
  forwarding.mode = ForwardingMode::never;
  const std::string forged =
      "GET / HTTP/1.1\r\nHost: a\r\nX-Client-Certificate-Verified: true\r\nx-client-certificate-subject: CN=Eve\r\n"
      "X_Client_Certificate_Serial: 1\r\nx-CLIENT_certificate: 1\r\nX-Client-Cert: kept\r\n\r\n";
  EXPECT_EQ(request(forged), "GET / HTTP/1.1\r\nHost: a\r\nX-Client-Cert: kept\r\n\r\n");
  forwarding.certificate = &certificate;
  EXPECT_EQ(request(forged),
            "GET / HTTP/1.1\r\nHost: a\r\nX-Client-Cert: kept\r\nX-Client-Certificate-Verified: true\r\n"
            "X-Client-Certificate-Sha256: ab12\r\nX-Client-Certificate-Subject: CN=Ann,O=Ebb\r\n"
            "X-Client-Certificate-Serial: 0F\r\n\r\n");
}

TEST_F(H1Write, QuotesIPv6InForwarded) {
  forwarding.client_host = "2001:db8::1";
  const std::string written = request("GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n");
  EXPECT_TRUE(written.contains("X-Forwarded-For: 2001:db8::1\r\n"));
  EXPECT_TRUE(written.contains("Forwarded: for=\"[2001:db8::1]\";host=\"[::1]:80\";proto=http\r\n")) << written;
}

TEST_F(H1Write, TurnsTheAbsoluteFormIntoTheOriginForm) {
  EXPECT_TRUE(
      request("GET http://b:1/x?y HTTP/1.1\r\nHost: a\r\n\r\n").starts_with("GET /x?y HTTP/1.1\r\nHost: b:1\r\n"));
  EXPECT_TRUE(request("GET http://b HTTP/1.1\r\nHost: a\r\n\r\n").starts_with("GET / HTTP/1.1\r\nHost: b\r\n"));
}

TEST_F(H1Write, SendsAnOldClientsRequestAsHttp11) {
  EXPECT_EQ(request("GET / HTTP/1.0\r\nX: 1\r\n\r\n"),
            "GET / HTTP/1.1\r\nHost: \r\nX: 1\r\nX-Forwarded-For: 10.0.0.9\r\nX-Forwarded-Port: 8080\r\n"
            "X-Forwarded-Proto: http\r\nForwarded: for=10.0.0.9;proto=http\r\n\r\n");
}

TEST_F(H1Write, RequestsThatAreWrittenAreReadWithTheSameMeaning) {
  for (const corpus::Sample& sample : corpus::requests()) {
    SCOPED_TRACE(sample.name);
    RequestHead first;
    if (parse_request(sample.bytes, {}, first).status != Status::complete || first.authority.empty()) continue;
    const WrittenRequest head = write_request(pool, first, forwarding);
    const base::Slice& written = head.text();
    RequestHead second;
    const Parsed again = parse_request(written.view(), {}, second);
    ASSERT_EQ(again.status, Status::complete) << again.why;
    EXPECT_EQ(again.consumed, written.size());
    EXPECT_EQ(second.method_text, first.method_text);
    EXPECT_EQ(second.path, first.path);
    EXPECT_EQ(second.authority, first.authority);
    EXPECT_EQ(second.framing, first.framing);
    EXPECT_EQ(second.content_length, first.content_length);
    EXPECT_EQ(second.upgrade, first.upgrade);
    EXPECT_EQ(second.te_trailers, first.te_trailers);
    EXPECT_EQ(second.expect_continue, first.expect_continue);
  }
}

TEST_F(H1Write, ResponsesThatAreWrittenAreReadWithTheSameMeaning) {
  for (const corpus::Sample& sample : corpus::responses()) {
    SCOPED_TRACE(sample.name);
    ResponseHead first;
    if (parse_response(sample.bytes, {}, Method::get, first).status != Status::complete) continue;
    const bool keep_alive = first.framing != Framing::until_close;
    const base::Slice written = write_response(
        pool, first, {.keep_alive = keep_alive, .chunked = first.framing == Framing::chunked, .extra = "X-E: 1\r\n"});
    ResponseHead second;
    const Parsed again = parse_response(written.view(), {}, Method::get, second);
    ASSERT_EQ(again.status, Status::complete) << again.why;
    EXPECT_EQ(second.status, first.status);
    EXPECT_EQ(second.reason, first.reason);
    EXPECT_EQ(second.framing, first.framing);
    EXPECT_EQ(second.has_length, first.has_length);
    EXPECT_EQ(second.content_length, first.content_length);
    EXPECT_EQ(second.keep_alive, keep_alive);
    EXPECT_EQ(second.upgrade, first.upgrade);
    EXPECT_NE(second.fields.find("x-e"), nullptr);
  }
}

TEST_F(H1Write, PassesAResponseOn) {
  EXPECT_EQ(
      response("HTTP/1.0 200 Fine\r\nDate: x\r\nContent-Length: 02\r\nKeep-Alive: 5\r\nConnection: close\r\n\r\n"),
      "HTTP/1.1 200 Fine\r\nDate: x\r\nContent-Length: 2\r\n\r\n");
}

TEST_F(H1Write, TellsTheClientWhatBecomesOfItsConnection) {
  const std::string bytes = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
  EXPECT_EQ(response(bytes, {.keep_alive = false}),
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(response(bytes, {.client_minor = 0}),
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\n");
}

TEST_F(H1Write, ChunksABodyOfUnknownLength) {
  EXPECT_EQ(response("HTTP/1.1 200 OK\r\nTrailer: X\r\n\r\n", {.chunked = true}),
            "HTTP/1.1 200 OK\r\nTrailer: X\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(response("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n",
                     {.client_minor = 0, .keep_alive = false}),
            "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
}

TEST_F(H1Write, DescribesABodyThatDoesNotCome) {
  EXPECT_EQ(response("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", {}, Method::head),
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n");
  EXPECT_EQ(response("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"),
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n");
  EXPECT_EQ(response("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"), "HTTP/1.1 204 No Content\r\n\r\n");
}

TEST_F(H1Write, SaysNothingAboutTheConnectionInAnInterimResponse) {
  EXPECT_EQ(response("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nConnection: close\r\n\r\n", {.keep_alive = false}),
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
}

TEST_F(H1Write, KeepsTheUpgradeOfSwitchingProtocols) {
  EXPECT_EQ(response("HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nX: 1\r\n\r\n"),
            "HTTP/1.1 101 Go\r\nX: 1\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
}

TEST_F(H1Write, GivesAReasonForEveryStatusThatACauseHas) {
  for (const base::CauseFacts& facts : base::cause_table) {
    if (facts.status != 0) EXPECT_FALSE(reason_phrase(facts.status).empty()) << facts.status;
  }
}

TEST_F(H1Write, FitsTheLargestHeadIntoOneSlice) {
  std::string bytes = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 90; ++i) bytes += "X-Field-" + std::to_string(i) + ":" + std::string(150, 'v') + "\r\n";
  const std::string written = request(bytes + "\r\n");
  EXPECT_GT(written.size(), bytes.size());
}

TEST_F(H1Write, WritesChunkSizes) {
  char buffer[18];
  const auto size_line = [&](std::uint64_t size) { return std::string(buffer, write_chunk_size(buffer, size)); };
  EXPECT_EQ(size_line(0), "0\r\n");
  EXPECT_EQ(size_line(8000), "1f40\r\n");
  EXPECT_EQ(size_line(UINT64_MAX), "ffffffffffffffff\r\n");
}

}  // namespace
}  // namespace ebb::wire
