// The kinds of difference between our reading and that of llhttp 8.1 (strict mode) and Boost.Beast 1.81. Where
// we are the stricter one the row says what they accept; where they are, why we need not be.
#pragma once

namespace ebb::wire::oracle {

enum class Who : unsigned char { we_refuse, they_refuse, they_wait };

struct Difference {
  Who who;
  const char* reader;  // nullptr: either
  const char* why;     // the words of the one that refuses
  const char* reason;
};

inline constexpr const char* semantics = "a matter of what fields mean, which a parser library leaves to its user";
inline constexpr const char* lenient =
    "accepted there for the sake of old peers; two readers could split it differently";
inline constexpr const char* beast_waits = "not noticed there before the whole line or trailer section has arrived";
inline constexpr const char* extension_dropped = "only its end matters here, and that is the same";
inline constexpr const char* line_not_complete = "the same verdict follows with the rest of the line";

inline constexpr Difference differences[] = {
    // Target, Host and method: the libraries hand them over unread.
    {Who::we_refuse, nullptr, "CONNECT is not served", semantics},
    {Who::we_refuse, nullptr, "asterisk form is for OPTIONS only", semantics},
    {Who::we_refuse, nullptr, "request target in no known form", semantics},
    {Who::we_refuse, nullptr, "query without a path in the request target", semantics},
    {Who::we_refuse, nullptr, "invalid authority in the request target", semantics},
    {Who::we_refuse, nullptr, "invalid Host", semantics},
    {Who::we_refuse, nullptr, "several Host fields", semantics},
    {Who::we_refuse, nullptr, "missing Host", semantics},
    {Who::we_refuse, nullptr, "expectation other than 100-continue", semantics},
    {Who::we_refuse, nullptr, "several Upgrade fields", semantics},
    {Who::we_refuse, nullptr, "101 without Upgrade", semantics},
    {Who::we_refuse, nullptr, "Connection names a field that must pass", semantics},
    {Who::we_refuse, "llhttp", "invalid Connection option", semantics},
    {Who::we_refuse, "llhttp", "HTTP major version other than 1", "llhttp knows 0.9 and 2.0 as versions"},

    // Framing: where they pick one reading, we refuse.
    {Who::we_refuse, nullptr, "Transfer-Encoding in HTTP/1.0", "RFC 9112 6.1: faulty framing"},
    {Who::we_refuse, nullptr, "transfer coding other than chunked", "they leave the other codings to their user"},
    {Who::we_refuse, nullptr, "chunked is not the last transfer coding", lenient},
    {Who::we_refuse, nullptr, "chunked has no parameters", lenient},
    {Who::we_refuse, nullptr, "invalid Transfer-Encoding", lenient},
    {Who::we_refuse, nullptr, "invalid Content-Length", "lengths up to 2^64-1, or a list of equal ones"},
    {Who::we_refuse, "beast", "repeated Content-Length", "Beast accepts equal values"},
    {Who::we_refuse, "llhttp", "Transfer-Encoding beside Content-Length", "llhttp decides at the end of the head only"},
    {Who::we_refuse, nullptr, "content announced where none may be",
     "they ignore it (RFC 9112 6.3), a backend may not"},
    {Who::we_refuse, nullptr, "chunk size too large", "sizes from 2^63 on, or any number of leading zeros"},

    // Lines.
    {Who::we_refuse, nullptr, "line folding, or white space before a field name", lenient},
    {Who::we_refuse, nullptr, "bare LF in a field line", lenient},
    {Who::we_refuse, nullptr, "empty field name", lenient},
    {Who::we_refuse, nullptr, "invalid request target", lenient},
    {Who::we_refuse, nullptr, "invalid HTTP version or end of the request line", lenient},
    {Who::we_refuse, nullptr, "invalid method", lenient},
    {Who::we_refuse, nullptr, "bare CR before the request line", lenient},
    {Who::we_refuse, nullptr, "request line without a version", "read there as HTTP/0.9"},
    {Who::we_refuse, nullptr, "invalid status line", lenient},
    {Who::we_refuse, nullptr, "invalid byte in the status line", lenient},
    {Who::we_refuse, nullptr, "status code below 100", lenient},
    {Who::we_refuse, nullptr, "invalid byte in a field name", "noticed there when the line is complete"},

    // Chunked bodies: Beast looks for the end of a line, or of all trailers, before it reads what is in them.
    {Who::we_refuse, "beast", "chunk size missing", beast_waits},
    {Who::we_refuse, "beast", "bare LF in a chunk size line", beast_waits},
    {Who::we_refuse, "beast", "chunk longer than its size", beast_waits},
    {Who::we_refuse, "beast", "bare CR behind a chunk", beast_waits},
    {Who::we_refuse, "beast", "bare CR in a field line", beast_waits},
    {Who::we_refuse, "beast", "field line without a colon", beast_waits},
    {Who::we_refuse, "beast", "control byte in a field value", beast_waits},
    {Who::we_refuse, "beast", "white space in a field name or before its colon", beast_waits},
    {Who::we_refuse, "beast", "invalid byte in a chunk size", "or it accepts white space before an extension"},
    {Who::we_refuse, "beast", "invalid byte in a chunk extension", "or it accepts control bytes in a quoted string"},

    // They refuse: what we may accept because it has one meaning only.
    {Who::they_refuse, "llhttp", "Invalid method encountered",
     "llhttp has a list of methods; ours is open (RFC 9110 9.1)"},
    {Who::they_refuse, "llhttp", "Expected space after method", "the same, where a listed method is a prefix"},
    {Who::they_refuse, "llhttp", "Invalid HTTP version", "RFC 9110 2.5: a higher minor version is read as 1.1"},
    {Who::they_refuse, "beast", "bad version", "RFC 9110 2.5: a higher minor version is read as 1.1"},
    {Who::they_refuse, "beast", "bad method", "RFC 9112 2.2: empty lines before a request are ignored"},
    {Who::they_refuse, "beast", "bad status", "the space behind a code without a reason may be missing"},
    {Who::they_refuse, nullptr, "bad Content-Length", "in trailers; we drop it there (RFC 9110 6.5.1)"},
    {Who::they_refuse, "llhttp", "Empty Content-Length", "in trailers; we drop it there (RFC 9110 6.5.1)"},
    {Who::they_refuse, "llhttp", "Invalid character in Content-Length",
     "a tab behind it (RFC 9110 5.6.3), or in trailers"},

    // They refuse: chunk extensions, of which we only find the end, since they are dropped.
    {Who::they_refuse, "beast", "bad chunk extension", extension_dropped},
    {Who::they_refuse, "llhttp", "Invalid character in chunk size", extension_dropped},
    {Who::they_refuse, "llhttp", "Invalid character in chunk extensions", extension_dropped},
    {Who::they_refuse, "llhttp", "Invalid character in chunk extensions name", extension_dropped},
    {Who::they_refuse, "llhttp", "Invalid character in chunk extensions value", extension_dropped},
    {Who::they_refuse, "llhttp", "Invalid character in chunk extensions quote value", extension_dropped},
    {Who::they_wait, "beast", "", "Beast lets a quoted string in an extension run over the end of its line"},

    // They refuse: earlier, inside a trailer line that we read when it is complete.
    {Who::they_refuse, "llhttp", "Invalid header token", line_not_complete},
    {Who::they_refuse, "llhttp", "Invalid header value char", line_not_complete},
    {Who::they_refuse, "llhttp", "Expected LF after headers", line_not_complete},
    {Who::they_refuse, "llhttp", "Missing expected LF after header value", line_not_complete},
};

}  // namespace ebb::wire::oracle
