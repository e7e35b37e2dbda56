#include "wire/h1_corpus.h"

namespace ebb::wire::corpus {
namespace {

using base::Cause;
using namespace std::string_literals;

constexpr Cause bad = Cause::client_bad_request;
constexpr Cause coding = Cause::client_coding_refused;
constexpr Cause version = Cause::client_version_refused;
constexpr Cause backend = Cause::backend_bad_response;

// A request for "/" whose field section is given.
std::string get(const std::string& fields) { return "GET / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n"; }
std::string post(const std::string& fields) { return "POST / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n"; }
std::string line(const std::string& request_line) { return request_line + "\r\nHost: a\r\n\r\n"; }
std::string host(const std::string& value) { return "GET / HTTP/1.1\r\nHost: " + value + "\r\n\r\n"; }
std::string answer(const std::string& fields) { return "HTTP/1.1 200 OK\r\n" + fields + "\r\n"; }

std::vector<Sample> accepted_requests() {
  return {
      {"plain", get("")},
      {"empty lines before it", "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"},
      {"browser like", get("User-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\nAccept: */*\r\nAccept-Language: en\r\n"
                           "Accept-Encoding: gzip, deflate, br\r\nReferer: http://a/\r\nConnection: "
                           "keep-alive\r\nCookie: a=b; c=d\r\n")},
      {"length", post("Content-Length: 5\r\n")},
      {"length zero", post("Content-Length: 0\r\n")},
      {"length with leading zeros", post("Content-Length: 007\r\n")},
      {"largest length", post("Content-Length: 9223372036854775807\r\n")},
      {"chunked", post("Transfer-Encoding: chunked\r\n")},
      {"chunked in capitals", post("TRANSFER-ENCODING: CHUNKED\r\n")},
      {"expectation", post("Content-Length: 5\r\nExpect: 100-continue\r\n")},
      {"websocket", get("Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n")},
      {"offer of h2c", get("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n")},
      {"close", get("Connection: close\r\n")},
      {"nominated field", get("Connection: X-Hop\r\nX-Hop: 1\r\nX-End: 2\r\n")},
      {"te trailers", get("TE: trailers\r\nConnection: TE\r\n")},
      {"no white space around the value", get("X:1\r\n")},
      {"white space around the value", get("X: \t 1 \t \r\n")},
      {"empty value", get("X:\r\n")},
      {"tab and obs-text in the value", get("X: a\tb\xe9\r\n")},
      {"every token mark in a name", get("!#$%&'*+-.^_`|~09azAZ: 1\r\n")},
      {"absolute form", line("GET http://b.example:8080/x?y HTTP/1.1")},
      {"absolute form without a path", line("GET http://b HTTP/1.1")},
      {"asterisk form", line("OPTIONS * HTTP/1.1")},
      {"own method", line("PURGE /x HTTP/1.1")},
      {"HTTP/1.0 without Host", "GET / HTTP/1.0\r\n\r\n"},
      {"HTTP/1.0 keep-alive", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"},
      {"higher minor version", line("GET / HTTP/1.7")},
      {"IPv6 host", host("[::1]:8080")},
      {"underscore in host", host("my_service.local")},
      {"several forwarded", get("X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 2.2.2.2\r\nForwarded: for=3.3.3.3\r\n")},
      {"an open quote in Forwarded", get("Forwarded: for=\"evil\r\n")},
  };
}

std::vector<Sample> refused_framing() {
  return {
      {"both lengths", post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), bad},
      {"both lengths, other order", post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"), bad},
      {"two lengths", post("Content-Length: 5\r\nContent-Length: 6\r\n"), bad},
      {"two equal lengths", post("Content-Length: 5\r\nContent-Length: 5\r\n"), bad},
      {"list of lengths", post("Content-Length: 5, 5\r\n"), bad},
      {"signed length", post("Content-Length: +5\r\n"), bad},
      {"negative length", post("Content-Length: -5\r\n"), bad},
      {"blank in length", post("Content-Length: 5 5\r\n"), bad},
      {"hexadecimal length", post("Content-Length: 0x5\r\n"), bad},
      {"empty length", post("Content-Length:\r\n"), bad},
      {"length of 2^63", post("Content-Length: 9223372036854775808\r\n"), bad},
      {"length beyond 2^64", post("Content-Length: 18446744073709551621\r\n"), bad},
      {"gzip before chunked", post("Transfer-Encoding: gzip, chunked\r\n"), coding},
      {"gzip only", post("Transfer-Encoding: gzip\r\n"), coding},
      {"identity", post("Transfer-Encoding: identity\r\n"), coding},
      {"almost chunked", post("Transfer-Encoding: xchunked\r\n"), coding},
      {"chunked twice", post("Transfer-Encoding: chunked, chunked\r\n"), bad},
      {"chunked on two lines", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), bad},
      {"chunked, then identity on a line of its own",
       post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"), bad},
      {"chunked before gzip", post("Transfer-Encoding: chunked, gzip\r\n"), bad},
      {"chunked with a parameter", post("Transfer-Encoding: chunked;q=1\r\n"), bad},
      {"chunked in quotes", post("Transfer-Encoding: \"chunked\"\r\n"), bad},
      {"empty coding", post("Transfer-Encoding:\r\n"), bad},
      {"empty element before chunked", post("Transfer-Encoding: , chunked\r\n"), bad},
      {"vertical tab before chunked", post("Transfer-Encoding: \vchunked\r\n"), bad},
      {"chunked in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", bad},
      {"unknown expectation", post("Content-Length: 1\r\nExpect: magic\r\n"), Cause::client_expectation_failed},
      {"Connection names Host", get("Connection: host\r\n"), bad},
      {"Connection names Content-Length", post("Connection: Content-Length\r\nContent-Length: 5\r\n"), bad},
      {"Connection names X-Forwarded-For", get("Connection: X-Forwarded-For\r\n"), bad},
      {"Connection with a broken option", get("Connection: a b\r\n"), bad},
      {"two upgrades", get("Connection: upgrade\r\nUpgrade: a\r\nUpgrade: b\r\n"), bad},
  };
}

std::vector<Sample> refused_lines() {
  return {
      {"line folding", get("X: 1\r\n 2\r\n"), bad},
      {"white space before the first field", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", bad},
      {"space before the colon", get("X : 1\r\n"), bad},
      {"tab before the colon", get("X\t: 1\r\n"), bad},
      {"empty name", get(": 1\r\n"), bad},
      {"no colon", get("X\r\n"), bad},
      {"bare LF after a field", get("X: 1\nY: 2\r\n"), bad},
      {"bare LF after the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n", bad},
      {"bare LF as the empty line", "GET / HTTP/1.1\r\nHost: a\r\n\n", bad},
      {"bare LF before the request line", "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", bad},
      {"bare CR in a value", get("X: 1\r2\r\n"), bad},
      {"CR CR LF", get("X: 1\r\r\n"), bad},
      {"NUL in a value", get("X: a\0b\r\n"s), bad},
      {"NUL in a name", get("X\0: a\r\n"s), bad},
      {"DEL in a value", get("X: a\x7f\r\n"), bad},
      {"obs-text in a name", get("X\xe9: 1\r\n"), bad},
      {"missing Host", "GET / HTTP/1.1\r\n\r\n", bad},
      {"two Hosts", get("Host: a\r\n"), bad},
      {"empty Host", host(""), bad},
      {"space in Host", host("a b"), bad},
      {"comma in Host", host("a,b"), bad},
      {"slash in Host", host("a/b"), bad},
      {"userinfo in Host", host("u@a"), bad},
      {"percent in Host", host("a%2e"), bad},
      {"port too large", host("a:65536"), bad},
      {"empty port", host("a:"), bad},
      {"port of letters", host("a:http"), bad},
      {"broken IPv6 host", host("[::1"), bad},
      {"IPv6 zone in host", host("[fe80::1%25eth0]"), bad},
      {"no version", line("GET /"), bad},
      {"lower case version", line("GET / http/1.1"), bad},
      {"two digits in the version", line("GET / HTTP/1.10"), bad},
      {"two spaces before the version", line("GET /  HTTP/1.1"), bad},
      {"two spaces before the target", line("GET  / HTTP/1.1"), bad},
      {"tab as separator", line("GET\t/ HTTP/1.1"), bad},
      {"space after the version", line("GET / HTTP/1.1 "), bad},
      {"space before the method", line(" GET / HTTP/1.1"), bad},
      {"invalid method", line("G(T / HTTP/1.1"), bad},
      {"fragment", line("GET /#x HTTP/1.1"), bad},
      {"obs-text in the target", line("GET /\xe9 HTTP/1.1"), bad},
      {"relative target", line("GET x HTTP/1.1"), bad},
      {"asterisk for GET", line("GET * HTTP/1.1"), bad},
      {"other scheme", line("GET ftp://a/ HTTP/1.1"), bad},
      {"userinfo in the target", line("GET http://u@a/ HTTP/1.1"), bad},
      {"no authority in the target", line("GET http:///x HTTP/1.1"), bad},
      {"query without a path", line("GET http://a?x HTTP/1.1"), bad},
      {"absolute form without Host", "GET http://a/ HTTP/1.1\r\n\r\n", bad},
      {"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\n", version},
      {"HTTP/0.9 by number", line("GET / HTTP/0.9"), version},
      {"CONNECT", line("CONNECT a:443 HTTP/1.1"), Cause::client_method_refused},
      {"TLS handshake", "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n"s, bad},
  };
}

std::vector<Sample> join(std::initializer_list<std::vector<Sample>> parts) {
  std::vector<Sample> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace

const std::vector<Sample>& requests() {
  static const std::vector<Sample> all = join({accepted_requests(), refused_framing(), refused_lines()});
  return all;
}

const std::vector<Sample>& responses() {
  static const std::vector<Sample> all = {
      {"plain", answer("Content-Length: 2\r\n")},
      {"no reason", "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n"},
      {"no space behind the code", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n"},
      {"obs-text in the reason", "HTTP/1.1 404 nicht gefunden \xfc\r\nContent-Length: 0\r\n\r\n"},
      {"chunked", answer("Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n")},
      {"until close", answer("Server: x\r\n")},
      {"no content", "HTTP/1.1 204 No Content\r\n\r\n"},
      {"no content of length zero", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"},
      {"not modified", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nETag: \"x\"\r\n\r\n"},
      {"continue", "HTTP/1.1 100 Continue\r\n\r\n"},
      {"early hints", "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"},
      {"switching", "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"},
      {"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n"},
      {"HTTP/1.0 keep-alive", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\n"},
      {"close", answer("Content-Length: 2\r\nConnection: close\r\nKeep-Alive: timeout=5\r\n")},
      {"unusual code", "HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n"},
      {"both lengths", answer("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n"), backend},
      {"two lengths", answer("Content-Length: 2\r\nContent-Length: 2\r\n"), backend},
      {"gzip coding", answer("Transfer-Encoding: gzip, chunked\r\n"), backend},
      {"chunked in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", backend},
      {"chunked no content", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", backend},
      {"no content of some length", "HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\n", backend},
      {"switching without upgrade", "HTTP/1.1 101 Switching Protocols\r\n\r\n", backend},
      {"line folding", answer("X: 1\r\n 2\r\n"), backend},
      {"space before the colon", answer("X : 1\r\n"), backend},
      {"bare LF", "HTTP/1.1 200 OK\nContent-Length: 0\n\n", backend},
      {"bare CR in the reason", "HTTP/1.1 200 O\rK\r\n\r\n", backend},
      {"NUL in a value", answer("X: \0\r\n"s), backend},
      {"status of two digits", "HTTP/1.1 20 OK\r\n\r\n", backend},
      {"status of four digits", "HTTP/1.1 2000 OK\r\n\r\n", backend},
      {"status below 100", "HTTP/1.1 099 Odd\r\n\r\n", backend},
      {"HTTP/2.0", "HTTP/2.0 200 OK\r\n\r\n", backend},
      {"lower case version", "http/1.1 200 OK\r\n\r\n", backend},
      {"empty line before it", "\r\nHTTP/1.1 200 OK\r\n\r\n", backend},
      {"not HTTP", "SSH-2.0-OpenSSH\r\n", backend},
      {"Connection names Content-Length", answer("Connection: content-length\r\nContent-Length: 2\r\n"), backend},
  };
  return all;
}

const std::vector<Sample>& chunked() {
  static const std::vector<Sample> all = {
      {"empty", "0\r\n\r\n"},
      {"one chunk", "5\r\nhello\r\n0\r\n\r\n"},
      {"two chunks", "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"},
      {"sizes in both cases", "a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n"},
      {"leading zeros", "0005\r\nhello\r\n000\r\n\r\n"},
      {"extensions", "5;a=b;c=\"d;e\"\r\nhello\r\n0;last\r\n\r\n"},
      {"CRLF as payload", "2\r\n\r\n\r\n0\r\n\r\n"},
      {"trailers", "1\r\nx\r\n0\r\nX-Sum: 1\r\nX-More:2 \r\n\r\n"},
      {"trailers that are dropped", "0\r\nContent-Length: 5\r\nX-Sum: 1\r\nHost: b\r\nAuthorization: x\r\n\r\n"},
      {"bytes behind it", "0\r\n\r\nGET / HTTP/1.1\r\n"},
      {"no size", "\r\n", bad},
      {"not hexadecimal", "g\r\n", bad},
      {"prefix 0x", "0x5\r\nhello\r\n0\r\n\r\n", bad},
      {"negative", "-1\r\n", bad},
      {"space before the size", " 5\r\nhello\r\n", bad},
      {"space behind the size", "5 \r\nhello\r\n", bad},
      {"bare LF behind the size", "5\nhello\r\n0\r\n\r\n", bad},
      {"bare LF in an extension", "5;a\nhello\r\n0\r\n\r\n", bad},
      {"bare CR in an extension", "5;a\rb\r\nhello\r\n0\r\n\r\n", bad},
      {"bare LF behind the chunk", "5\r\nhello\n0\r\n\r\n", bad},
      {"chunk longer than its size", "5\r\nhello!\r\n0\r\n\r\n", bad},
      {"2^63", "8000000000000000\r\n", bad},
      {"seventeen digits", "00000000000000005\r\nhello\r\n0\r\n\r\n", bad},
      {"overflow", "10000000000000005\r\nhello\r\n0\r\n\r\n", bad},
      {"NUL in an extension", "5;\0\r\nhello\r\n0\r\n\r\n"s, bad},
      {"space before the colon of a trailer", "0\r\nX : 1\r\n\r\n", bad},
      {"folded trailer", "0\r\nX: 1\r\n 2\r\n\r\n", bad},
      {"bare LF in trailers", "0\r\nX: 1\n\r\n", bad},
      {"bare LF at the end", "0\r\n\n", bad},
  };
  return all;
}

}  // namespace ebb::wire::corpus
