#include "wire/written_request.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "wire/h1_corpus.h"
#include "wire/h1_write.h"
#include "wire/h2_fields.h"
#include "wire/h2_peer.h"

namespace ebb::wire {
namespace {

using Status = Parsed::Status;
using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs pairs_of(const H2Fields& fields) {
  const auto text = [](const std::uint8_t* at, std::size_t size) {
    return std::string(reinterpret_cast<const char*>(at), size);
  };
  Pairs pairs;
  for (const nghttp2_nv& pair : std::span(fields.data(), fields.size())) {
    pairs.emplace_back(text(pair.name, pair.namelen), text(pair.value, pair.valuelen));
  }
  return pairs;
}

class WrittenRequestTest : public ::testing::Test {
 protected:
  ~WrittenRequestTest() override { EXPECT_EQ(pool.bytes_in_use(), 0u); }

  WrittenRequest written(const std::string& bytes) {
    const Parsed parsed = parse_request(bytes, {.fields = fields_max}, head);
    EXPECT_EQ(parsed.status, Status::complete) << parsed.why;
    return write_request(pool, head, forwarding);
  }
  static Pairs as_http2(const WrittenRequest& request, bool tunnel) {
    H2Fields& fields = H2Fields::of_this_thread();
    fields.set_request(request, "https", tunnel);
    return pairs_of(fields);
  }
  // The long way: the text is read as any client's would be.
  static Pairs read_again(const WrittenRequest& request, bool tunnel) {
    static RequestHead again;
    const HeadLimits limits{.head_bytes = 1 << 20, .target_bytes = 1 << 20, .fields = fields_max};
    EXPECT_EQ(parse_request(request.text().view(), limits, again).status, Status::complete);
    if (!tunnel) again.upgrade = {};
    H2Fields& fields = H2Fields::of_this_thread();
    fields.set_request(again, "https");
    return pairs_of(fields);
  }

  base::BlockPool pool;
  RequestHead head;
  Forwarding forwarding{.client_host = "10.0.0.9", .scheme = "http", .port = 8080};
};

TEST_F(WrittenRequestTest, SaysToHttp2WhatItsTextSays) {
  const PeerCertificate certificate{.verified = true, .sha256 = "aa", .subject = "CN=me, O=us", .serial = "0a"};
  for (const ForwardingMode mode :
       {ForwardingMode::append, ForwardingMode::replace, ForwardingMode::if_none, ForwardingMode::never}) {
    for (const bool with_more : {false, true}) {
      forwarding.mode = mode;
      forwarding.trusted = with_more;
      forwarding.via = with_more ? "edge" : "";
      forwarding.via_version = "1.1";
      forwarding.certificate = with_more ? &certificate : nullptr;
      for (const corpus::Sample& sample : corpus::requests()) {
        if (parse_request(sample.bytes, {}, head).status != Status::complete || head.authority.empty()) continue;
        SCOPED_TRACE(sample.name);
        const WrittenRequest request = write_request(pool, head, forwarding);
        EXPECT_EQ(as_http2(request, false), read_again(request, false));
        if (!request.upgrade().empty()) {
          EXPECT_EQ(as_http2(request, true), read_again(request, true));
        }
      }
    }
  }
}

TEST_F(WrittenRequestTest, LeavesTheConnectionOfHttp1Behind) {
  forwarding.mode = ForwardingMode::never;
  const WrittenRequest request = written(
      "POST /x?y HTTP/1.1\r\nHost: a:1\r\nX-One: 1\r\nTE: trailers\r\nConnection: upgrade, te\r\nUpgrade: x\r\n"
      "Content-Length: 5\r\nX-Two: 2\r\n\r\n");
  const Pairs expected{{":method", "POST"}, {":scheme", "https"}, {":authority", "a:1"},   {":path", "/x?y"},
                       {"X-One", "1"},      {"X-Two", "2"},       {"content-length", "5"}, {"te", "trailers"}};
  EXPECT_EQ(as_http2(request, false), expected);
}

TEST_F(WrittenRequestTest, TurnsAnUpgradeIntoAnExtendedConnect) {
  forwarding.mode = ForwardingMode::never;
  const WrittenRequest request = written(
      "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: abc\r\n"
      "Sec-WebSocket-Version: 13\r\n\r\n");
  EXPECT_EQ(request.upgrade(), "websocket");
  EXPECT_EQ(request.value_of("sec-websocket-key"), "abc");
  EXPECT_EQ(request.value_of("sec-websocket-protocol"), std::nullopt);
  const Pairs expected{{":method", "CONNECT"}, {":protocol", "websocket"}, {":scheme", "https"},
                       {":authority", "a"},    {":path", "/chat"},         {"Sec-WebSocket-Version", "13"}};
  EXPECT_EQ(as_http2(request, true), expected);
}

TEST_F(WrittenRequestTest, HasAMarkForEachLineOfTheLargestHead) {
  std::string bytes = "GET / HTTP/1.0\r\nConnection: keep-alive\r\n";
  while (std::ranges::count(bytes, '\n') < std::ptrdiff_t{fields_max} + 1)
    bytes += "x: " + std::string(40, 'v') + "\r\n";
  const WrittenRequest request = written(bytes + "\r\n");
  EXPECT_EQ(request.authority(), "");
  std::string again = "GET / HTTP/1.1\r\n";
  request.each_line([&again](LineKind, const Field& line) {
    again.append(line.name).append(": ").append(line.value).append("\r\n");
  });
  EXPECT_EQ(again + "\r\n", request.text().view());
  EXPECT_EQ(request.lines(), fields_max + 4);  // without Connection; with Host, and four of forwarding
}

TEST_F(WrittenRequestTest, OpensNoStreamForWhatHttp2CannotSay) {
  h2_test::End client(H2Session::Role::client);
  const auto stream_for = [&](const std::string& bytes) {
    return client.session.request(written(bytes), Method::get, "http", false, true);
  };
  EXPECT_EQ(stream_for("GET / HTTP/1.0\r\n\r\n"), 0);
  std::string many = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (std::size_t i = 1; i < fields_max; ++i) many += "x: 1\r\n";
  EXPECT_EQ(stream_for(many + "\r\n"), 0);
  EXPECT_EQ(stream_for("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), 1);
}

TEST_F(WrittenRequestTest, CopiesShareItsBlock) {
  WrittenRequest request = written("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  const WrittenRequest copy = request;
  const std::size_t held = pool.bytes_in_use();
  request = {};
  EXPECT_TRUE(request.text().empty());
  EXPECT_EQ(request.block(), nullptr);
  EXPECT_EQ(pool.bytes_in_use(), held);
  EXPECT_EQ(copy.method(), "GET");
  EXPECT_EQ(copy.path(), "/");
}

}  // namespace
}  // namespace ebb::wire
