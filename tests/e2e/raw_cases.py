"""Raw HTTP/1 cases: what a client sends, what reaches the backend byte for byte, what comes back byte for byte.

Pure data, no I/O. The runner opens one raw connection to a router whose only route sends everything to one raw backend,
and plays a Case:

    client    turns of the client, in order. It sends `send` in one piece (chunks are passed on as they arrive, so
              pieces would show), then reads until it has `gets`: exact bytes, or an Own,
              an answer that the router makes itself and that
              Own.render() spells out.
    backend   turns of the backend, in order, over all its connections: it reads until it has `gets` exactly, then
              sends `sends`; `closes` ends its connection after that. An empty list: nothing may reach the backend, not
              even a connection.
    stays_open  whether the router keeps the client's connection open after the last turn. If not, it must close it
              without sending anything more.

Placeholders in the backend's `gets`: {client} is the client's address, {port} the listener's port. Other braces do not
occur. The limits are the router's defaults: 16384 bytes of head, 8192 of target, 100 fields.
"""

import dataclasses

REASONS = {
    400: "Bad Request", 405: "Method Not Allowed", 414: "URI Too Long", 417: "Expectation Failed",
    431: "Request Header Fields Too Large", 501: "Not Implemented", 502: "Bad Gateway",
    505: "HTTP Version Not Supported",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Own:
    status: int
    cause: str
    words: str
    extra: str = ""
    closes: bool = True
    head_only: bool = False

    def render(self):
        body = f"{self.status} {REASONS[self.status]}\n{self.words} ({self.cause})\n"
        head = (
            f"HTTP/1.1 {self.status} {REASONS[self.status]}\r\nContent-Type: text/plain\r\n{self.extra}"
            f"Content-Length: {len(body)}\r\n{'Connection: close' + chr(13) + chr(10) if self.closes else ''}\r\n"
        )
        return (head if self.head_only else head + body).encode()


@dataclasses.dataclass(frozen=True)
class ClientTurn:
    send: bytes
    gets: bytes | Own


@dataclasses.dataclass(frozen=True)
class BackendTurn:
    gets: bytes
    sends: bytes
    closes: bool = False


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    client: list
    backend: list
    stays_open: bool = True


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
OK_CLOSE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
OK_KEPT = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok"


def trace(host=b"a", before=b"", before_forwarded=b""):
    """What the router adds to a request, and the empty line behind it."""
    named = b"X-Forwarded-Host: " + host + b"\r\n" if host else b""
    quoted = b';host="' + host + b'"' if host else b""
    return (
        b"X-Forwarded-For: " + before + b"{client}\r\n" + named + b"X-Forwarded-Port: {port}\r\n"
        b"X-Forwarded-Proto: http\r\nForwarded: " + before_forwarded + b"for={client}" + quoted + b";proto=http\r\n\r\n"
    )


def passes(name, send, reaches, answer=OK, gets=None, stays_open=True, closes=False):
    """One request goes through, one answer comes back; unless told, the client gets what the backend sent."""
    return Case(name, [ClientTurn(send, answer if gets is None else gets)], [BackendTurn(reaches, answer, closes)],
    stays_open)


def refused(name, send, words, status=400, cause="client_bad_request", extra=""):
    return Case(name, [ClientTurn(send, Own(status, cause, words, extra))], [], stays_open=False)


def get(fields=b""):
    return b"GET / HTTP/1.1\r\nHost: a\r\n" + fields + b"\r\n"


def post(fields, body=b""):
    return b"POST / HTTP/1.1\r\nHost: a\r\n" + fields + b"\r\n" + body


def with_line(line):
    return line + b"\r\nHost: a\r\n\r\n"


def with_host(host):
    return b"GET / HTTP/1.1\r\nHost: " + host + b"\r\n\r\n"


GET_REACHES = b"GET / HTTP/1.1\r\nHost: a\r\n"
POST_REACHES = b"POST / HTTP/1.1\r\nHost: a\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"

FORWARDING = [
    passes("a plain request goes through", get(), GET_REACHES + trace()),
    passes("empty lines before a request are skipped", b"\r\n\r\n" + get(), GET_REACHES + trace()),
    passes("fields keep their order and spelling; white space around values goes",
           get(b"X-B:  2 \t\r\nx-A:1\r\nX-Empty:\r\n"), GET_REACHES + b"X-B: 2\r\nx-A: 1\r\nX-Empty: \r\n" + trace()),
    passes("Host moves to the front", b"GET / HTTP/1.1\r\nX: 1\r\nhOST: a\r\n\r\n",
           GET_REACHES + b"X: 1\r\n" + trace()),
    passes("repeated fields stay repeated", get(b"X: 1\r\nX: 2\r\n"), GET_REACHES + b"X: 1\r\nX: 2\r\n" + trace()),
    passes("tabs and bytes above 127 in a value pass", get(b"X: a\tb\xe9\r\n"),
           GET_REACHES + b"X: a\tb\xe9\r\n" + trace()),
    passes("every token mark is allowed in a name", get(b"!#$%&'*+-.^_`|~: 1\r\n"),
           GET_REACHES + b"!#$%&'*+-.^_`|~: 1\r\n" + trace()),
    passes("path and query pass unchanged", with_line(b"GET /a//b/../c%2F%zz?x=y&z=? HTTP/1.1"),
           b"GET /a//b/../c%2F%zz?x=y&z=? HTTP/1.1\r\nHost: a\r\n" + trace()),
    passes("a method of one's own passes", with_line(b"PURGE /x HTTP/1.1"),
           b"PURGE /x HTTP/1.1\r\nHost: a\r\n" + trace()),
    passes("methods are case-sensitive and pass as they are", with_line(b"get / HTTP/1.1"),
           b"get / HTTP/1.1\r\nHost: a\r\n" + trace()),
    passes("a higher minor version is read as 1.1", with_line(b"GET / HTTP/1.9"), GET_REACHES + trace()),
    passes("the authority of the absolute form replaces Host", with_line(b"GET http://b.example:81/x?y HTTP/1.1"),
           b"GET /x?y HTTP/1.1\r\nHost: b.example:81\r\n" + trace(b"b.example:81")),
    passes("the absolute form without a path means the root", with_line(b"GET http://b HTTP/1.1"),
           b"GET / HTTP/1.1\r\nHost: b\r\n" + trace(b"b")),
    passes("the scheme of the absolute form is not case-sensitive", with_line(b"GET HTTPS://b/ HTTP/1.1"),
           b"GET / HTTP/1.1\r\nHost: b\r\n" + trace(b"b")),
    passes("OPTIONS in asterisk form passes", with_line(b"OPTIONS * HTTP/1.1"),
           b"OPTIONS * HTTP/1.1\r\nHost: a\r\n" + trace()),
    passes("OPTIONS in absolute form without a path becomes the asterisk form", with_line(b"OPTIONS http://b HTTP/1.1"),
           b"OPTIONS * HTTP/1.1\r\nHost: b\r\n" + trace(b"b")),
    passes("a host with a port passes", with_host(b"a.example:8080"),
           b"GET / HTTP/1.1\r\nHost: a.example:8080\r\n" + trace(b"a.example:8080")),
    passes("an IPv6 host passes", with_host(b"[::1]:80"), b"GET / HTTP/1.1\r\nHost: [::1]:80\r\n" + trace(b"[::1]:80")),
    passes("an underscore in a host passes", with_host(b"my_app"),
           b"GET / HTTP/1.1\r\nHost: my_app\r\n" + trace(b"my_app")),
    passes("X-Forwarded-For is appended to", get(b"X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 2.2.2.2\r\n"),
           GET_REACHES + trace(before=b"1.1.1.1, 2.2.2.2, ")),
    passes("Forwarded is appended to", get(b"Forwarded: for=1.1.1.1\r\n"),
           GET_REACHES + trace(before_forwarded=b"for=1.1.1.1, ")),
    passes("Forwarded with an open quote is dropped", get(b'Forwarded: for="1.1.1.1\r\n'), GET_REACHES + trace()),
    passes("a client does not choose X-Forwarded-Host, -Port and -Proto",
           get(b"X-Forwarded-Host: evil\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Port: 1\r\n"),
           GET_REACHES + trace()),
    passes("an upper case name is the same name", get(b"X-FORWARDED-HOST: evil\r\n"), GET_REACHES + trace()),
]  # fmt: skip

HOP_BY_HOP = [
    passes("Connection, Keep-Alive and Proxy-Connection stay behind",
           get(b"Connection: keep-alive\r\nKeep-Alive: 5\r\nProxy-Connection: close\r\n"), GET_REACHES + trace()),
    passes("fields that Connection names stay behind",
           get(b"X-Hop: 1\r\nConnection: x-hop , ,X-Two\r\nX-Two: 2\r\nX-End: 3\r\n"),
           GET_REACHES + b"X-End: 3\r\n" + trace()),
    passes("TE is reduced to trailers", get(b"TE: gzip;q=0.5, trailers\r\n"),
           GET_REACHES + b"Connection: TE\r\nTE: trailers\r\n" + trace()),
    passes("TE without trailers stays behind", get(b"TE: gzip\r\n"), GET_REACHES + trace()),
    passes("Upgrade that Connection does not name stays behind", get(b"Upgrade: websocket\r\n"), GET_REACHES + trace()),
    passes("an offer of h2c is not passed on",
           get(b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"),
           GET_REACHES + trace()),
    passes("Authorization and Proxy-Authorization pass", get(b"Authorization: x\r\nProxy-Authorization: y\r\n"),
           GET_REACHES + b"Authorization: x\r\nProxy-Authorization: y\r\n" + trace()),
    passes("Connection: close closes after the answer", get(b"Connection: close\r\n"), GET_REACHES + trace(), OK,
           OK_CLOSE, stays_open=False),
    passes("close wins over keep-alive", get(b"Connection: keep-alive, close\r\n"), GET_REACHES + trace(), OK,
           OK_CLOSE, stays_open=False),
    refused("Connection may not name Host", get(b"Connection: host\r\n"), "Connection names a field that must pass"),
    refused("Connection may not name Content-Length",
            post(b"Connection: Content-Length\r\nContent-Length: 2\r\n", b"ok"),
            "Connection names a field that must pass"),
    refused("Connection may not name Transfer-Encoding",
            post(b"Connection: transfer-encoding\r\n" + CHUNKED, b"0\r\n\r\n"),
            "Connection names a field that must pass"),
    refused("Connection may not name X-Forwarded-For", get(b"Connection: close, X-Forwarded-For\r\n"),
            "Connection names a field that must pass"),
    refused("a connection option must be a token", get(b"Connection: a b\r\n"), "invalid Connection option"),
    refused("33 connection options are too many", get(b"Connection: " + b"x," * 33 + b"\r\n"),
            "too many Connection options"),
]  # fmt: skip

HTTP10 = [
    passes("an HTTP/1.0 request goes out as 1.1 and its connection ends", b"GET / HTTP/1.0\r\nHost: a\r\n\r\n",
           GET_REACHES + trace(),
           OK, OK_CLOSE, stays_open=False),
    passes("an HTTP/1.0 request without Host goes out with an empty one", b"GET / HTTP/1.0\r\n\r\n",
           b"GET / HTTP/1.1\r\nHost: \r\n" + trace(b""),
           OK, OK_CLOSE, stays_open=False),
    passes("HTTP/1.0 keep-alive is granted and said", b"GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n",
           GET_REACHES + trace(),
           OK, OK_KEPT),
    passes("a chunked answer to HTTP/1.0 is unwrapped and ends with the connection",
           b"GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n", GET_REACHES + trace(),
           b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
           b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nok", stays_open=False),
    passes("an HTTP/1.0 client gets no interim response", b"GET / HTTP/1.0\r\nHost: a\r\n\r\n", GET_REACHES + trace(),
           b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK, OK_CLOSE, stays_open=False),
    passes("Expect in HTTP/1.0 is ignored",
           b"POST / HTTP/1.0\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi",
           POST_REACHES + b"Content-Length: 2\r\n" + trace() + b"hi", OK, OK_CLOSE, stays_open=False),
    passes("Upgrade in HTTP/1.0 is ignored", b"GET / HTTP/1.0\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
           GET_REACHES + trace(),
           OK, OK_CLOSE, stays_open=False),
    refused("Transfer-Encoding in HTTP/1.0 is refused", b"POST / HTTP/1.0\r\nHost: a\r\n" + CHUNKED + b"\r\n0\r\n\r\n",
            "Transfer-Encoding in HTTP/1.0"),
]  # fmt: skip

BODIES = [
    passes("a body with a length passes", post(b"Content-Length: 5\r\n", b"hello"),
           POST_REACHES + b"Content-Length: 5\r\n" + trace() + b"hello"),
    passes("a length of zero passes", post(b"Content-Length: 0\r\n"),
           POST_REACHES + b"Content-Length: 0\r\n" + trace()),
    passes("leading zeros of a length go", post(b"Content-Length: 005\r\n", b"hello"),
           POST_REACHES + b"Content-Length: 5\r\n" + trace() + b"hello"),
    passes("a body of a GET passes", get(b"Content-Length: 2\r\n") + b"hi",
           GET_REACHES + b"Content-Length: 2\r\n" + trace() + b"hi"),
    passes("a POST without a length has no body", post(b""), POST_REACHES + trace()),
    passes("a chunked body stays chunked", post(CHUNKED, b"5\r\nhello\r\n0\r\n\r\n"),
           POST_REACHES + CHUNKED + trace() + b"5\r\nhello\r\n0\r\n\r\n"),
    passes("an empty chunked body stays chunked", post(CHUNKED, b"0\r\n\r\n"),
           POST_REACHES + CHUNKED + trace() + b"0\r\n\r\n"),
    passes("spelling of chunked is normalised", post(b"TRANSFER-encoding:\tCHUNKED \r\n", b"1\r\nx\r\n0\r\n\r\n"),
           POST_REACHES + CHUNKED + trace() + b"1\r\nx\r\n0\r\n\r\n"),
    passes("chunk sizes are written anew", post(CHUNKED, b"00A\r\n0123456789\r\n0000\r\n\r\n"),
           POST_REACHES + CHUNKED + trace() + b"a\r\n0123456789\r\n0\r\n\r\n"),
    passes("chunk extensions are dropped", post(CHUNKED, b'5;a=b;c="d"\r\nhello\r\n0;x\r\n\r\n'),
           POST_REACHES + CHUNKED + trace() + b"5\r\nhello\r\n0\r\n\r\n"),
    passes("trailers pass", post(CHUNKED + b"Trailer: X-Sum\r\n", b"1\r\nx\r\n0\r\nX-Sum:1 \r\n\r\n"),
           POST_REACHES + b"Trailer: X-Sum\r\n" + CHUNKED + trace() + b"1\r\nx\r\n0\r\nX-Sum: 1\r\n\r\n"),
    passes("trailers that would change the message are dropped",
           post(CHUNKED,
           b"1\r\nx\r\n0\r\nContent-Length: 9\r\nHost: b\r\nX-Sum: 1\r\n"
                b"Authorization: y\r\nTransfer-Encoding: z\r\n\r\n"),
           POST_REACHES + CHUNKED + trace() + b"1\r\nx\r\n0\r\nX-Sum: 1\r\n\r\n"),
    passes("a payload that looks like framing is payload", post(CHUNKED, b"7\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n"),
           POST_REACHES + CHUNKED + trace() + b"7\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n"),
]  # fmt: skip

SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"

SMUGGLING = [
    refused("CL.TE: both lengths are refused", post(b"Content-Length: 6\r\n" + CHUNKED, b"0\r\n\r\nG"),
            "Transfer-Encoding beside Content-Length"),
    refused("TE.CL: both lengths in the other order are refused",
            post(CHUNKED + b"Content-Length: 4\r\n", b"5c\r\n" + SMUGGLED),
            "Content-Length beside Transfer-Encoding"),
    refused("CL.CL: two lengths are refused", post(b"Content-Length: 5\r\nContent-Length: 6\r\n", b"hello!"),
            "repeated Content-Length"),
    refused("two equal lengths are refused", post(b"Content-Length: 5\r\nContent-Length: 5\r\n", b"hello"),
            "repeated Content-Length"),
    refused("a list of lengths is refused", post(b"Content-Length: 5, 5\r\n", b"hello"), "invalid Content-Length"),
    refused("TE.TE: chunked on two lines is refused", post(CHUNKED + CHUNKED, b"0\r\n\r\n"),
            "repeated Transfer-Encoding"),
    refused("TE.TE: chunked and identity are refused",
            post(CHUNKED + b"Transfer-Encoding: identity\r\n", b"0\r\n\r\n"), "repeated Transfer-Encoding"),
    refused("TE.TE: chunked twice is refused", post(b"Transfer-Encoding: chunked, chunked\r\n", b"0\r\n\r\n"),
            "chunked is not the last transfer coding"),
    refused("TE.TE: chunked before another coding is refused",
            post(b"Transfer-Encoding: chunked, gzip\r\n", b"0\r\n\r\n"), "chunked is not the last transfer coding"),
    refused("another coding before chunked is not implemented",
            post(b"Transfer-Encoding: gzip, chunked\r\n", b"0\r\n\r\n"),
            "transfer coding other than chunked", 501, "client_coding_refused"),
    refused("identity is not implemented", post(b"Transfer-Encoding: identity\r\n"),
            "transfer coding other than chunked", 501, "client_coding_refused"),
    refused("xchunked is not chunked", post(b"Transfer-Encoding: xchunked\r\n", b"0\r\n\r\n"),
            "transfer coding other than chunked", 501, "client_coding_refused"),
    refused("chunked with a parameter is refused", post(b"Transfer-Encoding: chunked;a=b\r\n", b"0\r\n\r\n"),
            "chunked has no parameters"),
    refused("chunked in quotes is refused", post(b'Transfer-Encoding: "chunked"\r\n', b"0\r\n\r\n"),
            "invalid Transfer-Encoding"),
    refused("an empty Transfer-Encoding is refused", post(b"Transfer-Encoding:\r\n"), "invalid Transfer-Encoding"),
    refused("an empty list element before chunked is refused", post(b"Transfer-Encoding: ,chunked\r\n", b"0\r\n\r\n"),
            "invalid Transfer-Encoding"),
    refused("a list element behind chunked is refused", post(b"Transfer-Encoding: chunked,\r\n", b"0\r\n\r\n"),
            "chunked is not the last transfer coding"),
    refused("a vertical tab before chunked is refused", post(b"Transfer-Encoding: \x0bchunked\r\n", b"0\r\n\r\n"),
            "control byte in a field value"),
    refused("a NUL behind chunked is refused", post(b"Transfer-Encoding: chunked\x00\r\n", b"0\r\n\r\n"),
            "control byte in a field value"),
    refused("a space before the colon of Transfer-Encoding is refused",
            post(b"Transfer-Encoding : chunked\r\n", b"0\r\n\r\n"),
            "white space in a field name or before its colon"),
    refused("a tab before the colon of Content-Length is refused", post(b"Content-Length\t: 2\r\n", b"hi"),
            "white space in a field name or before its colon"),
    refused("a folded Transfer-Encoding is refused", post(b"Transfer-Encoding:\r\n chunked\r\n", b"0\r\n\r\n"),
            "invalid Transfer-Encoding"),
    refused("a folded field is refused", get(b"X: 1\r\n Transfer-Encoding: chunked\r\n"),
            "line folding, or white space before a field name"),
    refused("white space before the first field is refused", b"GET / HTTP/1.1\r\n Host: a\r\n\r\n",
            "line folding, or white space before a field name"),
    refused("a bare LF hides no field", get(b"X: 1\nTransfer-Encoding: chunked\r\n"), "bare LF in a field line"),
    refused("a bare CR hides no field", get(b"X: 1\rTransfer-Encoding: chunked\r\n"), "bare CR in a field line"),
    refused("a bare LF does not end the head", b"GET / HTTP/1.1\r\nHost: a\r\n\n", "bare LF in a field line"),
    refused("a bare LF does not end the request line", b"GET / HTTP/1.1\nHost: a\r\n\r\n",
            "invalid HTTP version or end of the request line"),
    refused("a plus sign before a length is refused", post(b"Content-Length: +2\r\n", b"hi"), "invalid Content-Length"),
    refused("a negative length is refused", post(b"Content-Length: -2\r\n", b"hi"), "invalid Content-Length"),
    refused("a hexadecimal length is refused", post(b"Content-Length: 0x2\r\n", b"hi"), "invalid Content-Length"),
    refused("a space inside a length is refused", post(b"Content-Length: 1 0\r\n", b"0123456789"),
            "invalid Content-Length"),
    refused("an empty length is refused", post(b"Content-Length: \r\n"), "invalid Content-Length"),
    refused("a length of 2^63 is refused", post(b"Content-Length: 9223372036854775808\r\n"), "invalid Content-Length"),
    refused("a length beyond 2^64 is refused", post(b"Content-Length: 18446744073709551618\r\n", b"hi"),
            "invalid Content-Length"),
]  # fmt: skip


def broken_chunks(name, body):
    """Head and body arrive together, so the request is refused before a connection to the backend is opened."""
    own = Own(400, "client_bad_request", "the request is malformed or ambiguous")
    return Case(name, [ClientTurn(post(CHUNKED, body), own)], [], stays_open=False)


BROKEN_CHUNKS = [
    broken_chunks("a chunk without a size is refused", b"\r\n\r\n"),
    broken_chunks("a size that is not hexadecimal is refused", b"g\r\n"),
    broken_chunks("a size with 0x is refused", b"0x5\r\nhello\r\n0\r\n\r\n"),
    broken_chunks("a negative size is refused", b"-5\r\nhello\r\n0\r\n\r\n"),
    broken_chunks("white space before a size is refused", b" 5\r\nhello\r\n0\r\n\r\n"),
    broken_chunks("white space behind a size is refused", b"5 \r\nhello\r\n0\r\n\r\n"),
    broken_chunks("a size of 2^63 is refused", b"8000000000000000\r\n"),
    broken_chunks("a size that overflows 64 bits is refused", b"10000000000000005\r\nhello\r\n0\r\n\r\n"),
    broken_chunks("a size of seventeen digits is refused", b"00000000000000005\r\nhello\r\n0\r\n\r\n"),
    broken_chunks("a bare LF behind a size is refused", b"5\nhello\r\n0\r\n\r\n"),
    broken_chunks("a bare LF in an extension is refused", b"5;a\nhello\r\n0\r\n\r\n"),
    broken_chunks("a bare CR in an extension is refused", b"5;a\rb\r\nhello\r\n0\r\n\r\n"),
    broken_chunks("more than 4096 bytes of extensions are refused", b"5;" + b"x" * 4097 + b"\r\nhello\r\n0\r\n\r\n"),
    broken_chunks("a chunk longer than its size is refused", b"5\r\nhello!\r\n0\r\n\r\n"),
    broken_chunks("a bare LF behind a chunk is refused", b"5\r\nhello\n0\r\n\r\n"),
    broken_chunks("a trailer with a space before its colon is refused", b"0\r\nX : 1\r\n\r\n"),
    broken_chunks("a folded trailer is refused", b"0\r\nX: 1\r\n 2\r\n\r\n"),
    broken_chunks("a bare LF in trailers is refused", b"0\r\nX: 1\n\r\n"),
    broken_chunks("more than 8192 bytes of trailers are refused", b"0\r\nX: " + b"x" * 8192 + b"\r\n\r\n"),
]  # fmt: skip

REQUEST_LINE = [
    refused("a request line without a version is refused", with_line(b"GET /"), "request line without a version"),
    refused("a lower case version is refused", with_line(b"GET / http/1.1"),
            "invalid HTTP version or end of the request line"),
    refused("a version of two digits is refused", with_line(b"GET / HTTP/1.10"),
            "invalid HTTP version or end of the request line"),
    refused("white space behind the version is refused", with_line(b"GET / HTTP/1.1 "),
            "invalid HTTP version or end of the request line"),
    refused("two spaces before the version are refused", with_line(b"GET /  HTTP/1.1"),
            "invalid HTTP version or end of the request line"),
    refused("two spaces before the target are refused", with_line(b"GET  / HTTP/1.1"), "invalid request target"),
    refused("a tab as separator is refused", with_line(b"GET\t/ HTTP/1.1"), "invalid method"),
    refused("a space before the method is refused", with_line(b" GET / HTTP/1.1"), "invalid method"),
    refused("an invalid method is refused", with_line(b"G(T / HTTP/1.1"), "invalid method"),
    refused("a TLS handshake on a plain port is refused", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            "invalid method"),
    refused("a bare LF before the request line is refused", b"\n" + get(), "invalid method"),
    refused("a bare CR before the request line is refused", b"\rGET / HTTP/1.1\r\n", "bare CR before the request line"),
    refused("a fragment is refused", with_line(b"GET /#x HTTP/1.1"), "invalid request target"),
    refused("bytes above 127 in the target are refused", with_line(b"GET /\xc3\xa9 HTTP/1.1"),
            "invalid request target"),
    refused("a relative target is refused", with_line(b"GET x HTTP/1.1"), "request target in no known form"),
    refused("the asterisk form is for OPTIONS only", with_line(b"GET * HTTP/1.1"), "asterisk form is for OPTIONS only"),
    refused("other schemes are refused", with_line(b"GET ftp://a/ HTTP/1.1"), "request target in no known form"),
    refused("userinfo in the target is refused", with_line(b"GET http://u:p@a/ HTTP/1.1"),
            "invalid authority in the request target"),
    refused("an empty authority in the target is refused", with_line(b"GET http:///x HTTP/1.1"),
            "invalid authority in the request target"),
    refused("a query without a path is refused", with_line(b"GET http://a?x HTTP/1.1"),
            "query without a path in the request target"),
    refused("the absolute form needs Host too", b"GET http://a/ HTTP/1.1\r\n\r\n", "missing Host"),
    refused("what only resembles the HTTP/2 preface is refused", b"PRI * HTTP/2.1\r\n\r\nSM\r\n\r\n",
            "HTTP major version other than 1", 505, "client_version_refused"),
    refused("HTTP/0.9 by number is refused", with_line(b"GET / HTTP/0.9"), "HTTP major version other than 1", 505,
            "client_version_refused"),
    refused("CONNECT is refused", with_line(b"CONNECT a:443 HTTP/1.1"), "CONNECT is not served", 405,
            "client_method_refused",
            "Allow: GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH\r\n"),
]  # fmt: skip

FIELDS = [
    refused("an empty name is refused", get(b": 1\r\n"), "empty field name"),
    refused("a line without a colon is refused", get(b"X\r\n"), "field line without a colon"),
    refused("a NUL in a name is refused", get(b"X\x00: 1\r\n"), "invalid byte in a field name"),
    refused("bytes above 127 in a name are refused", get(b"X\xe9: 1\r\n"), "invalid byte in a field name"),
    refused("a NUL in a value is refused", get(b"X: a\x00b\r\n"), "control byte in a field value"),
    refused("DEL in a value is refused", get(b"X: a\x7f\r\n"), "control byte in a field value"),
    refused("CR CR LF is refused", get(b"X: 1\r\r\n"), "bare CR in a field line"),
    refused("a missing Host is refused", b"GET / HTTP/1.1\r\n\r\n", "missing Host"),
    refused("two Hosts are refused", get(b"Host: b\r\n"), "several Host fields"),
    refused("two equal Hosts are refused", get(b"Host: a\r\n"), "several Host fields"),
    refused("an empty Host is refused", with_host(b""), "invalid Host"),
    refused("a space in Host is refused", with_host(b"a b"), "invalid Host"),
    refused("a comma in Host is refused", with_host(b"a, b"), "invalid Host"),
    refused("a slash in Host is refused", with_host(b"a/b"), "invalid Host"),
    refused("userinfo in Host is refused", with_host(b"u@a"), "invalid Host"),
    refused("percent-encoding in Host is refused", with_host(b"a%2eb"), "invalid Host"),
    refused("an empty label in Host is refused", with_host(b"a..b"), "invalid Host"),
    refused("two dots behind Host are refused", with_host(b"a.test..:80"), "invalid Host"),
    refused("a dot before Host is refused", with_host(b".a.test"), "invalid Host"),
    refused("an empty port is refused", with_host(b"a:"), "invalid Host"),
    refused("a port beyond 65535 is refused", with_host(b"a:65536"), "invalid Host"),
    refused("a broken IPv6 host is refused", with_host(b"[::1"), "invalid Host"),
    refused("several Upgrade fields are refused", get(b"Connection: upgrade\r\nUpgrade: a\r\nUpgrade: b\r\n"),
            "several Upgrade fields"),
    refused("an unknown expectation fails", post(b"Expect: magic\r\nContent-Length: 2\r\n", b"hi"),
            "expectation other than 100-continue",
            417, "client_expectation_failed"),
]  # fmt: skip

LIMITS = [
    refused("a target of 8193 bytes is too long", b"GET /" + b"x" * 8192, "request target too long", 414,
            "client_uri_too_long"),
    passes("a target of 8192 bytes passes", with_line(b"GET /" + b"x" * 8191 + b" HTTP/1.1"),
           b"GET /" + b"x" * 8191 + b" HTTP/1.1\r\nHost: a\r\n" + trace()),
    refused("a head beyond 16384 bytes is too large", get(b"X: " + b"x" * 16384 + b"\r\n"), "request head too long",
            431, "client_head_too_large"),
    refused("a head is refused at its limit, before it ends", b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 16356,
            "request head too long",
            431, "client_head_too_large"),
    passes("100 fields pass", get(b"X: 1\r\n" * 99), GET_REACHES + b"X: 1\r\n" * 99 + trace()),
    refused("101 fields are too many", get(b"X: 1\r\n" * 100), "too many fields", 431, "client_head_too_large"),
    refused("a flood of empty lines is too large", b"\r\n" * 8192, "request head too long", 431,
            "client_head_too_large"),
]  # fmt: skip

PIPELINING = [
    Case("pipelined requests are answered in order",
         [ClientTurn(with_line(b"GET /1 HTTP/1.1") + with_line(b"GET /2 HTTP/1.1"),
         b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1"
                     b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2")],
         [BackendTurn(b"GET /1 HTTP/1.1\r\nHost: a\r\n" + trace(), b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1"),
          BackendTurn(b"GET /2 HTTP/1.1\r\nHost: a\r\n" + trace(), b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2")]),
    Case("a request behind a counted body is a request of its own",
         [ClientTurn(post(b"Content-Length: 2\r\n", b"hi") + get(), OK + OK)],
         [BackendTurn(POST_REACHES + b"Content-Length: 2\r\n" + trace() + b"hi", OK),
         BackendTurn(GET_REACHES + trace(), OK)]),
    Case("a request behind a chunked body is a request of its own",
         [ClientTurn(post(CHUNKED, b"2\r\nhi\r\n0\r\n\r\n") + get(), OK + OK)],
         [BackendTurn(POST_REACHES + CHUNKED + trace() + b"2\r\nhi\r\n0\r\n\r\n", OK),
         BackendTurn(GET_REACHES + trace(), OK)]),
    Case("what follows a request without a body is never a body",
         [ClientTurn(post(b"") + SMUGGLED, OK + OK)],
         [BackendTurn(POST_REACHES + trace(), OK),
         BackendTurn(b"GET /smuggled HTTP/1.1\r\nHost: a\r\n" + trace(), OK)]),
    Case("a refused request behind a good one does not spoil its answer",
         [ClientTurn(get() + with_host(b"a b"), OK), ClientTurn(b"", Own(400, "client_bad_request", "invalid Host"))],
         [BackendTurn(GET_REACHES + trace(), OK)], stays_open=False),
    Case("what is pipelined behind Connection: close is not served",
         [ClientTurn(get(b"Connection: close\r\n") + SMUGGLED, OK_CLOSE)],
         [BackendTurn(GET_REACHES + trace(), OK)], stays_open=False),
    Case("what is pipelined behind a refused request is not served",
         [ClientTurn(with_host(b"a b") + SMUGGLED, Own(400, "client_bad_request", "invalid Host"))], [],
         stays_open=False),
]  # fmt: skip

EXPECT_REACHES = POST_REACHES + b"Expect: 100-continue\r\nContent-Length: 2\r\n" + trace()
WEBSOCKET = get(b"Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n")
WEBSOCKET_REACHES = GET_REACHES + b"Sec-WebSocket-Key: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n" + trace()

INTERIM = [
    Case("100-continue passes end to end",
         [ClientTurn(post(b"Expect: 100-continue\r\nContent-Length: 2\r\n"), b"HTTP/1.1 100 Continue\r\n\r\n"),
         ClientTurn(b"hi", OK)],
         [BackendTurn(EXPECT_REACHES, b"HTTP/1.1 100 Continue\r\n\r\n"), BackendTurn(b"hi", OK)]),
    Case("a final answer instead of 100 ends the exchange and the connection",
         [ClientTurn(post(b"Expect: 100-continue\r\nContent-Length: 2\r\n"),
                     b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")],
         [BackendTurn(EXPECT_REACHES, b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n")],
         stays_open=False),
    passes("103 passes before the final answer", get(), GET_REACHES + trace(),
           b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n" + OK),
    passes("several interim answers pass", get(), GET_REACHES + trace(),
           b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n" + OK),
    passes("an interim answer loses its connection fields", get(), GET_REACHES + trace(),
           b"HTTP/1.1 103 Early Hints\r\nConnection: x\r\nX: 1\r\nLink: </a>\r\n\r\n" + OK,
           b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK),
    Case("an upgrade becomes a tunnel",
         [ClientTurn(WEBSOCKET,
         b"HTTP/1.1 101 Switching Protocols\r\nX: 1\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"),
          ClientTurn(b"\x81\x02\r\n", b"\x81\x02hi")],
         [BackendTurn(WEBSOCKET_REACHES,
         b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nX: 1\r\n\r\n"),
          BackendTurn(b"\x81\x02\r\n", b"\x81\x02hi")]),
    passes("an upgrade that the backend declines is an ordinary answer", WEBSOCKET, WEBSOCKET_REACHES),
]  # fmt: skip


def bad_answer(name, answer):
    """Both sides of the request are whole, so the client's connection may go on; the backend's is closed."""
    own = Own(502, "backend_bad_response", "the response is malformed or ambiguous", closes=False)
    return Case(name, [ClientTurn(get(), own)], [BackendTurn(GET_REACHES + trace(), answer)])


def head_request(fields=b""):
    return b"HEAD / HTTP/1.1\r\nHost: a\r\n" + fields + b"\r\n"


HEAD_REACHES = b"HEAD / HTTP/1.1\r\nHost: a\r\n" + trace()

RESPONSES = [
    passes("fields of a response keep order and spelling", get(), GET_REACHES + trace(),
           b"HTTP/1.1 200 Fine\r\nset-cookie: a\r\nSet-Cookie:b\r\nContent-Length: 2\r\n\r\nok",
           b"HTTP/1.1 200 Fine\r\nset-cookie: a\r\nSet-Cookie: b\r\nContent-Length: 2\r\n\r\nok"),
    passes("a status line without a reason gets its space", get(), GET_REACHES + trace(),
           b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok",
           b"HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok"),
    passes("a chunked response stays chunked", get(), GET_REACHES + trace(),
           b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
    passes("trailers of a response pass", get(), GET_REACHES + trace(),
           b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
           b"2;x\r\nok\r\n0\r\nX-Sum: 1\r\nSet-Cookie: x\r\n\r\n",
           b"HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n"),
    passes("a body that ends with the connection becomes chunked", get(), GET_REACHES + trace(),
           b"HTTP/1.1 200 OK\r\n\r\nok",
           b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", closes=True),
    passes("an HTTP/1.0 response is passed on as 1.1", get(), GET_REACHES + trace(),
           b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", OK, closes=True),
    passes("the backend's Connection: close does not close the client's connection", get(), GET_REACHES + trace(),
           b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\nKeep-Alive: x\r\n\r\nok", OK, closes=True),
    passes("fields that the backend's Connection names stay behind", get(), GET_REACHES + trace(),
           b"HTTP/1.1 200 OK\r\nConnection: x-hop\r\nX-Hop: 1\r\nContent-Length: 2\r\n\r\nok", OK),
    passes("204 has no body and loses a length of zero", get(), GET_REACHES + trace(),
           b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
           b"HTTP/1.1 204 No Content\r\n\r\n"),
    passes("304 keeps the length of the body that does not come", get(), GET_REACHES + trace(),
           b"HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\nContent-Length: 9\r\n\r\n"),
    passes("HEAD keeps the length of the body that does not come", head_request(), HEAD_REACHES,
           b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"),
    passes("HEAD of a chunked resource has no body", head_request(), HEAD_REACHES,
           b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
           b"HTTP/1.1 200 OK\r\n\r\n"),
    passes("HEAD without any length has no body", head_request(), HEAD_REACHES, b"HTTP/1.1 200 OK\r\nX: 1\r\n\r\n"),
    Case("HEAD and GET on one connection are not confused",
         [ClientTurn(head_request(), b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"), ClientTurn(get(), OK)],
         [BackendTurn(HEAD_REACHES, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"),
         BackendTurn(GET_REACHES + trace(), OK)]),
    passes("an unusual status passes", get(), GET_REACHES + trace(),
           b"HTTP/1.1 799 Odd\r\nContent-Length: 2\r\n\r\nok"),
    bad_answer("both lengths in a response are refused",
               b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
    bad_answer("two lengths in a response are refused",
               b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok"),
    bad_answer("a malformed length in a response is refused", b"HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nok"),
    bad_answer("another coding in a response is refused",
               b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
    bad_answer("chunked in an HTTP/1.0 response is refused",
               b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    bad_answer("204 with a length is refused", b"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok"),
    bad_answer("204 with chunks is refused", b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    bad_answer("101 without being asked is refused",
               b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"),
    bad_answer("101 without Upgrade is refused", b"HTTP/1.1 101 Switching Protocols\r\n\r\n"),
    bad_answer("a folded field in a response is refused",
               b"HTTP/1.1 200 OK\r\nX: 1\r\n 2\r\nContent-Length: 0\r\n\r\n"),
    bad_answer("a space before a colon in a response is refused", b"HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok"),
    bad_answer("bare LFs in a response are refused", b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok"),
    bad_answer("a NUL in a response is refused", b"HTTP/1.1 200 OK\r\nX: \x00\r\nContent-Length: 2\r\n\r\nok"),
    bad_answer("an HTTP/2.0 response is refused", b"HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nok"),
    bad_answer("a status of two digits is refused", b"HTTP/1.1 20 OK\r\nContent-Length: 2\r\n\r\nok"),
    bad_answer("a status below 100 is refused", b"HTTP/1.1 099 Odd\r\nContent-Length: 2\r\n\r\nok"),
    bad_answer("an empty line before a response is refused", b"\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
    bad_answer("what is not HTTP is refused", b"SSH-2.0-OpenSSH_9.2\r\n"),
    bad_answer("a response head beyond the limit is refused", b"HTTP/1.1 200 OK\r\nX: " + b"x" * 16384),
    Case("a refused response to HEAD has no body",
         [ClientTurn(head_request(),
         Own(502, "backend_bad_response", "the response is malformed or ambiguous", closes=False, head_only=True))],
         [BackendTurn(HEAD_REACHES, b"HTTP/1.1 20 OK\r\n\r\n")]),
    passes("a response that breaks its chunks is cut short, never ended", get(), GET_REACHES + trace(),
           b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nbroken\r\n\r\n",
           b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", stays_open=False),
    passes("a response shorter than its length is cut short", get(), GET_REACHES + trace(),
           b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok",
           stays_open=False, closes=True),
]  # fmt: skip

CASES = [
    *FORWARDING, *HOP_BY_HOP, *HTTP10, *BODIES, *SMUGGLING, *BROKEN_CHUNKS, *REQUEST_LINE, *FIELDS, *LIMITS,
    *PIPELINING, *INTERIM, *RESPONSES,
]  # fmt: skip

assert len({case.name for case in CASES}) == len(CASES), "a case's name is its identity"
