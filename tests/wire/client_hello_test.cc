// ClientHellos of six clients that are not ours (fuzz/corpus/client_hello), of OpenSSL on the spot, and built by hand
// for what no client sends.
#include "wire/client_hello.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "base/rng.h"
#include "tests/project_folder.h"
#include "wire/tls_peer.h"

namespace ebb::wire {
namespace {

using testing::HasSubstr;
using Status = Parsed::Status;

std::string captured(const std::string& name) {
  const auto folder = project_folder() / "fuzz/corpus/client_hello";
  std::ifstream file(folder / name, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string number(std::size_t value, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) text.push_back(static_cast<char>(value >> shift));
  return text;
}

std::string field(int length_bytes, std::string_view content) {
  return number(content.size(), length_bytes).append(content);
}

std::string extension(unsigned type, std::string_view content) { return number(type, 2) + field(2, content); }
std::string server_name(std::string_view name) { return extension(0, field(2, std::string(1, '\0') + field(2, name))); }
std::string alpn(const std::vector<std::string>& protocols) {
  std::string list;
  for (const std::string& protocol : protocols) list += field(1, protocol);
  return extension(16, field(2, list));
}

struct Hello {
  std::string version = "\x03\x03";
  std::string session_id = std::string(32, 's');
  std::string suites = "\x13\x01\x13\x02";
  std::string compressions = std::string(1, '\0');
  std::string extensions = server_name("shop.test") + alpn({"h2", "http/1.1"});
  bool with_extensions = true;

  std::string message() const {
    std::string body =
        version + std::string(32, 'r') + field(1, session_id) + field(2, suites) + field(1, compressions);
    if (with_extensions) body += field(2, extensions);
    return "\x01" + field(3, body);
  }
};

// The message cut into records of `piece` bytes.
std::string records(std::string_view message, std::size_t piece = 16384) {
  std::string bytes;
  for (; !message.empty(); message.remove_prefix(std::min(piece, message.size()))) {
    bytes += std::string("\x16\x03\x01") + field(2, message.substr(0, piece));
  }
  return bytes;
}

std::string payload_of(std::string_view record_bytes) {
  std::string payload;
  while (!record_bytes.empty()) {
    const std::size_t length =
        static_cast<unsigned char>(record_bytes[3]) << 8 | static_cast<unsigned char>(record_bytes[4]);
    payload += record_bytes.substr(5, length);
    record_bytes.remove_prefix(5 + length);
  }
  return payload;
}

std::string refusal(const std::string& bytes) {
  ClientHello hello;
  const Parsed parsed = parse_client_hello(bytes, hello);
  EXPECT_EQ(parsed.status, Status::refused);
  EXPECT_EQ(parsed.cause, base::Cause::client_tls_failed);
  EXPECT_EQ(hello.server_name, "");
  return parsed.why;
}

std::string refusal(const Hello& hello) { return refusal(records(hello.message())); }

ClientHello read(const std::string& bytes) {
  ClientHello hello;
  const Parsed parsed = parse_client_hello(bytes, hello);
  EXPECT_EQ(parsed.status, Status::complete) << parsed.why;
  EXPECT_EQ(parsed.consumed, bytes.size());
  return hello;
}

// Every prefix is incomplete or has the answer of the whole.
void expect_prefix_consistency(const std::string& bytes) {
  ClientHello whole;
  const Parsed expected = parse_client_hello(bytes, whole);
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const std::string prefix = bytes.substr(0, size);  // of exactly this size: the sanitizer sees any read behind it
    ClientHello hello;
    const Parsed parsed = parse_client_hello(prefix, hello);
    if (parsed.status == Status::incomplete) continue;
    ASSERT_EQ(parsed.status, expected.status) << "after " << size << " bytes: " << parsed.why << " / " << expected.why;
    ASSERT_STREQ(parsed.why, expected.why) << "after " << size << " bytes";
    ASSERT_EQ(parsed.consumed, expected.consumed);
    ASSERT_EQ(hello.server_name, whole.server_name);
    ASSERT_EQ(hello.alpn_list, whole.alpn_list);
    ASSERT_EQ(hello.alert, whole.alert);
  }
}

struct Capture {
  std::string file;
  std::string name;
  bool h2;
};
const std::vector<Capture> captures = {
    {"curl", "shop.example.test", true},
    {"openssl-tls12", "shop.example.test", false},
    {"openssl-tls10-without-a-name", "", false},
    {"java", "shop.example.test", true},
    {"go-post-quantum", "shop.example.test", true},
    {"wget-gnutls", "localhost", false},
};

TEST(ClientHello, OfRealClientsIsRead) {
  for (const Capture& capture : captures) {
    SCOPED_TRACE(capture.file);
    const ClientHello hello = read(captured(capture.file));
    EXPECT_EQ(hello.server_name, capture.name);
    EXPECT_EQ(hello.offers("h2"), capture.h2);
    EXPECT_FALSE(hello.offers("h3"));
    EXPECT_FALSE(hello.offers(""));
  }
}

TEST(ClientHello, OfRealClientsMayBeCutAnywhere) {
  for (const Capture& capture : captures) {
    SCOPED_TRACE(capture.file);
    const std::string bytes = captured(capture.file);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      ClientHello hello;
      ASSERT_EQ(parse_client_hello(bytes.substr(0, size), hello).status, Status::incomplete) << size;
    }
    expect_prefix_consistency(bytes + "what follows");
  }
}

TEST(ClientHello, OfRealClientsMayLieInRecordsOfAnySize) {
  for (const Capture& capture : captures) {
    SCOPED_TRACE(capture.file);
    const std::string message = payload_of(captured(capture.file));
    for (const std::size_t piece : {1, 2, 3, 4, 5, 7, 100, 255, 256}) {
      const std::string bytes = records(message, piece);
      EXPECT_EQ(read(bytes).server_name, capture.name) << piece;
      ClientHello hello;
      EXPECT_EQ(parse_client_hello(bytes.substr(0, bytes.size() - 1), hello).status, Status::incomplete);
    }
  }
}

TEST(ClientHello, InRecordsOfOneByteMayBeCutAnywhere) {
  expect_prefix_consistency(records(Hello{}.message(), 1) + "what follows");
}

TEST(ClientHello, OfOpensslIsReadInEachVersion) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION, 0}) {
    TlsClient client({.server_name = "Shop.Test", .alpn_wire = "\x02h2\x08http/1.1", .version = version});
    client.pump();
    const ClientHello hello = read(client.take_output());
    EXPECT_EQ(hello.server_name, "shop.test");
    EXPECT_TRUE(hello.offers("h2"));
    EXPECT_TRUE(hello.offers("http/1.1"));
    EXPECT_FALSE(hello.offers("http/1"));
  }
}

TEST(ClientHello, ConsumesItsRecordsAndNothingBehindThem) {
  const std::string bytes = records(Hello{}.message(), 50);
  ClientHello hello;
  const Parsed parsed = parse_client_hello(bytes + "\x14\x03\x03", hello);
  EXPECT_EQ(parsed.status, Status::complete);
  EXPECT_EQ(parsed.consumed, bytes.size());
}

TEST(ClientHello, MayHaveNoExtensionsAtAll) {
  for (const char* version : {"\x03\x01", "\x03\x02", "\x03\x03"}) {
    EXPECT_EQ(read(records(Hello{.version = version, .with_extensions = false}.message())).server_name, "");
  }
  EXPECT_EQ(read(records(Hello{.extensions = ""}.message())).server_name, "");
}

TEST(ClientHello, MayHoldGreaseAndUnknownExtensions) {
  const std::string bytes =
      records(Hello{.suites = "\x0a\x0a\x13\x01",
                    .extensions = extension(0x1a1a, "") + extension(0xfe0d, "encrypted") + server_name("shop.test") +
                                  alpn({"\x2a\x2a", "h2"}) + extension(0xaaaa, std::string(1, '\0'))}
                  .message());
  const ClientHello hello = read(bytes);
  EXPECT_EQ(hello.server_name, "shop.test");
  EXPECT_TRUE(hello.offers("h2"));
}

TEST(ClientHello, NamesAreBroughtIntoOneForm) {
  EXPECT_EQ(read(records(Hello{.extensions = server_name("WWW.Shop.TEST.")}.message())).server_name, "www.shop.test");
  EXPECT_EQ(read(records(Hello{.extensions = server_name("under_score.test")}.message())).server_name,
            "under_score.test");
}

TEST(ClientHello, NamesThatAreNoHostNamesAreRefused) {
  for (const std::string& name :
       {std::string("a..b"), std::string(".test"), std::string("."), std::string("*.test"), std::string("a b.test"),
        std::string("a\0.test", 7), std::string("a/b"), std::string("[::1]"), std::string(254, 'a'),
        std::string(64, 'a') + ".test", std::string("caf\xc3\xa9.test")}) {
    EXPECT_EQ(refusal(Hello{.extensions = server_name(name)}), "the server name is not a host name") << name;
  }
}

TEST(ClientHello, WithAMalformedServerNameIsRefused) {
  const std::string entry = std::string(1, '\0') + field(2, "a.test");
  for (const std::string& content :
       {std::string(), field(2, ""), field(2, entry + entry), field(2, "\x01" + field(2, "a.test")),
        field(2, entry) + "x", field(2, entry + "x"), entry, field(2, entry.substr(0, 5)),
        field(2, std::string(1, '\0'))}) {
    EXPECT_EQ(refusal(Hello{.extensions = extension(0, content)}), "the server_name extension is malformed");
  }
  EXPECT_EQ(refusal(Hello{.extensions = extension(0, field(2, std::string(3, '\0')))}),
            "the server name is not a host name");
}

TEST(ClientHello, WithAMalformedAlpnIsRefused) {
  for (const std::string& content : {std::string(), field(2, ""), field(2, std::string(1, '\0')), field(2, "\x03h2"),
                                     field(2, "\x02h2") + "x", field(2, std::string("\x02h2\0", 4))}) {
    EXPECT_EQ(refusal(Hello{.extensions = extension(16, content)}), "the ALPN extension is malformed");
  }
}

TEST(ClientHello, WithAnExtensionTwiceIsRefused) {
  EXPECT_EQ(refusal(Hello{.extensions = server_name("a.test") + server_name("b.test")}),
            "the server_name extension comes twice");
  EXPECT_EQ(refusal(Hello{.extensions = alpn({"h2"}) + alpn({"h2"})}), "the ALPN extension comes twice");
}

TEST(ClientHello, ThatIsMalformedIsRefused) {
  EXPECT_EQ(refusal(Hello{.session_id = std::string(33, 's')}), "the ClientHello is malformed");
  EXPECT_EQ(refusal(Hello{.suites = ""}), "the ClientHello is malformed");
  EXPECT_EQ(refusal(Hello{.suites = "\x13\x01\x13"}), "the ClientHello is malformed");
  EXPECT_EQ(refusal(Hello{.compressions = ""}), "the ClientHello is malformed");
  EXPECT_EQ(refusal(Hello{.extensions = "\x01"}), "an extension is cut short");
  EXPECT_EQ(refusal(Hello{.extensions = std::string("\xff\x01\x00\x09", 4)}), "an extension is cut short");
  EXPECT_EQ(refusal(records("\x01" + field(3, Hello{}.message().substr(4) + "x"))),
            "the ClientHello does not end with its extensions");
  EXPECT_EQ(refusal(records(std::string("\x01\0\0\0", 4))), "the ClientHello is malformed");
}

TEST(ClientHello, CutInsideItsMessageIsRefused) {
  const std::string body = Hello{}.message().substr(4);
  for (std::size_t size = 0; size < body.size(); ++size) {
    ClientHello hello;
    const Parsed parsed = parse_client_hello(records("\x01" + field(3, body.substr(0, size))), hello);
    const bool ends_before_extensions = size == Hello{.with_extensions = false}.message().size() - 4;
    EXPECT_EQ(parsed.status, ends_before_extensions ? Status::complete : Status::refused) << size;
  }
}

TEST(ClientHello, OlderThanTlsIsRefused) {
  EXPECT_EQ(refusal(Hello{.version = std::string("\x03\0", 2)}), "older than TLS 1.0");
  EXPECT_EQ(refusal(Hello{.version = "\x02\x03"}), "older than TLS 1.0");
  EXPECT_EQ(refusal(std::string("\x80\x2e\x01\x03\x01", 5)), "not a TLS handshake record");  // SSL 2.0
}

TEST(ClientHello, IsNotExpectedOfOtherProtocols) {
  for (const std::string& bytes : {std::string("G"), std::string("PRI * HTTP/2.0"), std::string("\x15\x03\x01"),
                                   std::string("\x17"), std::string(1, '\0'), std::string("\x16\x02")}) {
    ClientHello hello;
    EXPECT_EQ(parse_client_hello(bytes, hello).status, Status::refused);
    EXPECT_EQ(hello.alert, Alert::none) << "it could not read an alert";
  }
}

TEST(ClientHello, RecordsThatTlsForbidsAreRefused) {
  const std::string message = Hello{}.message();
  const std::string first = records(message.substr(0, 20));
  EXPECT_EQ(refusal(first + std::string("\x16\x03\x01\0\0", 5)), "an empty handshake record");
  EXPECT_EQ(refusal(first + "\x17\x03\x01"), "not a TLS handshake record");
  EXPECT_EQ(refusal(std::string("\x16\x03\x01\x40\x01", 5)), "a TLS record is larger than 16 KiB");
  EXPECT_EQ(refusal(records(message + "more")), "more than a ClientHello in a record");
  EXPECT_EQ(refusal(records("\x02" + message.substr(1))), "the first message is not a ClientHello");
}

TEST(ClientHello, RefusalsAreTheSameForEveryPrefixThatHasOne) {
  const std::string message = Hello{}.message();
  const std::string first = records(message.substr(0, 20));
  for (const std::string& bytes :
       {first + std::string("\x16\x03\x01\0\0", 5), first + "\x17\x03\x01", records(message + "more"),
        records(message + "more", 3), records("\x02" + message.substr(1), 1),
        records(std::string("\x01\x01\0\0xxx", 7)), records(Hello{.extensions = server_name("a..b")}.message(), 9),
        records(Hello{.version = "\x02\x03"}.message())}) {
    expect_prefix_consistency(bytes + "what follows");
  }
}

TEST(ClientHello, SpeakersOfTlsGetAnAlert) {
  ClientHello hello;
  parse_client_hello(records("\x02" + Hello{}.message().substr(1)), hello);
  EXPECT_EQ(hello.alert, Alert::decode_error);
  parse_client_hello(records(Hello{.version = std::string("\x03\0", 2)}.message()), hello);
  EXPECT_EQ(hello.alert, Alert::protocol_version);
}

std::string padded_message(std::size_t size) {
  const std::size_t others = Hello{.extensions = extension(21, "")}.message().size();
  return Hello{.extensions = extension(21, std::string(size - others, '\0'))}.message();
}

TEST(ClientHello, MayHaveSixteenKibibytesAndNoMore) {
  EXPECT_EQ(read(records(padded_message(client_hello_message_max))).server_name, "");
  EXPECT_EQ(refusal(records(padded_message(client_hello_message_max + 1), 16000)), "the ClientHello is too large");
}

TEST(ClientHello, MayNotComeInEndlesslyManyRecords) {
  constexpr std::size_t overhead = 6;  // of a record with one byte
  const std::size_t fits = client_hello_bytes_max / overhead;
  EXPECT_EQ(read(records(padded_message(fits), 1)).server_name, "");
  const std::string longer = records(padded_message(fits + 1), 1);
  EXPECT_EQ(refusal(longer), "the ClientHello comes in too many records");
  EXPECT_EQ(refusal(longer.substr(0, client_hello_bytes_max)), "the ClientHello comes in too many records");
  ClientHello hello;
  EXPECT_EQ(parse_client_hello(longer.substr(0, client_hello_bytes_max - 1), hello).status, Status::incomplete);
}

TEST(ClientHello, DamagedAnywhereNeverChangesItsAnswerLater) {
  base::Rng rng(7);
  for (int round = 0; round < 300; ++round) {
    std::string bytes = records(Hello{}.message(), rng.between(1, 60));
    for (std::uint64_t flips = rng.between(1, 4); flips > 0; --flips) {
      bytes[rng.below(bytes.size())] = static_cast<char>(rng.next());
    }
    expect_prefix_consistency(bytes);
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

// The reader that serves and the one that routes must see the same name.
TEST(ClientHello, NameIsTheOneThatTheServerSees) {
  const auto context =
      ServerContext::build({.certificates = {ecdsa_source({"shop.test"})}}, std::make_shared<TicketKeys>());
  ASSERT_TRUE(context.has_value());
  for (const char* name : {"", "shop.test", "SHOP.test", "shop.test.", "other.test"}) {
    TlsPair pair(**context, {.server_name = name});
    pair.client.pump();
    const std::string bytes = pair.client.take_output();
    pair.feed(bytes);
    EXPECT_EQ(pair.server.server_name(), read(bytes).server_name);
  }
}

TEST(FatalAlert, IsUnderstoodByOpenssl) {
  for (const Alert alert : {Alert::unrecognized_name, Alert::handshake_failure, Alert::protocol_version}) {
    TlsClient client({.server_name = "shop.test"});
    client.pump();
    const auto record = fatal_alert(alert);
    client.give_input({record.data(), record.size()});
    client.pump();
    EXPECT_EQ(client.alert(), static_cast<int>(alert));
  }
}

}  // namespace
}  // namespace ebb::wire
