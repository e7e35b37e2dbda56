"""Peers that mean harm, or are broken: TLS, HTTP/2 and HTTP/1 clients and endpoints that send whatever comes to their mind, whole
or torn, early, late, twice and behind the end. All chance comes from one seed. And without chance: attacks(), each message, alert
and record torn at each byte.
"""

import contextlib
import itertools
import os
import random
import socket
import struct
import threading
import time
import typing

import http2
import raw_tls
from http1 import Closed, request
from raw_tls import ALERT, APPLICATION_DATA, CHANGE_CIPHER_SPEC, FATAL, HANDSHAKE, HEARTBEAT, TLS12, TLS13, WARNING, RawTls, key_update, message

TICKET = message(raw_tls.TICKET, bytes.fromhex("00000e10 00000001 01 00 0004") + b"tick" + b"\0\0")
# Every message of the handshake protocol, of either side and of either version, where none of them belongs.
MESSAGES = {
    "key_update": key_update(0), "key_update_wanted": key_update(1), "key_update_of_no_kind": key_update(2),
    "key_update_too_long": message(raw_tls.KEY_UPDATE, b"\0\0"), "ticket": TICKET, "ticket_without_end": TICKET[:-3],
    "hello_request": message(0), "client_hello": message(1, b"\3\3" + bytes(32) + b"\0\0\2\x13\x01\1\0"), "server_hello": message(2, b"\3\3" + bytes(36)),
    "end_of_early_data": message(5), "encrypted_extensions": message(8, b"\0\0"), "certificate": message(11, b"\0\0\0\0"),
    "certificate_request": message(13, b"\0" + b"\0\x08\0\x0d\0\4\0\2\4\3"), "server_hello_done": message(14), "certificate_verify": message(15, b"\4\3\0\4abcd"),
    "client_key_exchange": message(16, bytes(33)), "finished": message(20, bytes(32)), "message_hash": message(254, bytes(32)),
    "unknown": message(99, b"what"), "endless": b"\x18\xff\xff\xff\0", "empty": b"",
}
ALERTS = (0, 10, 20, 21, 22, 30, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 60, 70, 71, 80, 86, 90, 100, 109, 110, 112, 113, 115, 116, 120, 255)
PLAIN_GARBAGE = (
    b"\x17\x03\x03\x00\x20" + bytes(32), b"\x17\x03\x03\x00\x00", b"\x17\x03\x03\xff\xff", b"\x15\x03\x03\x00\x02\x02\x28", b"\x15\x03\x03\x00\x02\x01\x00",
    b"\x16\x03\x03\x00\x05\x18\0\0\x01\0", b"\x16\x03\x01\x00\x04\0\0\0\0", b"\x14\x03\x03\x00\x01\x01", b"\x14\x03\x03\x00\x01\x02", b"\x18\x03\x03\x00\x03\1\0\0",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\x80\x2e\x01\x00\x02", b"\0" * 64, b"\xff" * 64, b"\x17", b"\x17\x03\x03",
)
CODES = tuple(range(15)) + (255, 0xffffffff)
SETTINGS = ((1, 0), (2, 0), (2, 1), (2, 2), (3, 0), (3, 1), (3, 1000), (4, 0), (4, 65535), (4, 1 << 31), (5, 16384), (5, 1), (5, 1 << 24), (6, 0), (8, 1), (8, 2), (99, 7))


class Plain:
    """A socket with the few words that RawTls has too."""

    def __init__(self, connection):
        self.socket = connection
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def write(self, data):
        self.socket.sendall(data)

    def recv(self, size):
        return self.socket.recv(size)

    def close(self):
        self.socket.close()


class Hostile:
    """What both sides have in common: one connection, one source of chance."""

    def __init__(self, connection, chance):
        self.socket, self.chance, self.wire = connection, chance, None
        connection.settimeout(3)

    @property
    def secure(self):
        return isinstance(self.wire, RawTls)

    def pause(self, most=0.02):
        if self.chance.random() < 0.3:
            time.sleep(self.chance.random() * most)

    def torn(self, data):
        """In pieces, each in a segment of its own."""
        pieces = self.chance.choice((1, 1, 1, 2, 3, len(data) if len(data) < 60 else 4))
        cuts = sorted(self.chance.randrange(len(data) + 1) for _ in range(pieces - 1))
        for begin, end in zip([0, *cuts], [*cuts, len(data)]):
            if end > begin:
                self.socket.sendall(data[begin:end])
                if pieces > 1:
                    self.pause(0.005)

    def say(self, plaintext):
        """Application data in one record or several; without TLS, bytes in pieces."""
        if not self.secure:
            return self.torn(plaintext) if plaintext else None
        cut = self.chance.randrange(len(plaintext) + 1) if self.chance.random() < 0.3 else len(plaintext)
        data = self.wire.record(APPLICATION_DATA, plaintext[:cut])
        if cut < len(plaintext):
            data += self.wire.record(APPLICATION_DATA, plaintext[cut:])
        self.torn(data)

    def post_handshake(self):
        """A message, in one record or torn over several, with something in between now and then, once or twice."""
        name, whole = self.chance.choice(list(MESSAGES.items()))
        for _ in range(self.chance.choice((1, 1, 2))):
            at = self.chance.randrange(len(whole) + 1)
            if self.chance.random() < 0.5:
                self.torn(self.wire.record(HANDSHAKE, whole))
            else:
                self.torn(self.wire.record(HANDSHAKE, whole[:at]))
                self.pause(0.1)
                if self.chance.random() < 0.2:
                    self.torn(self.wire.record(APPLICATION_DATA, b"x"))
                if self.chance.random() < 0.8:
                    self.torn(self.wire.record(HANDSHAKE, whole[at:]))
            if name.startswith("key_update") and isinstance(self.wire.out, raw_tls.Keys13) and self.chance.random() < 0.9:
                self.wire.out.update()

    def disturb_tls(self):
        kind = self.chance.randrange(9)
        if kind < 4:
            self.post_handshake()
        elif kind == 4:
            self.torn(self.wire.record(ALERT, bytes([self.chance.choice((1, 1, 2, 0, 9)), self.chance.choice(ALERTS)])[:self.chance.choice((1, 2, 2, 2))]))
        elif kind == 5:
            self.torn(self.wire.record(self.chance.choice((CHANGE_CIPHER_SPEC, HEARTBEAT, 0, 23, 77)), self.chance.randbytes(self.chance.randrange(20))))
        elif kind == 6:
            self.torn(self.chance.choice(PLAIN_GARBAGE))
        elif kind == 7:
            data = bytearray(self.wire.record(APPLICATION_DATA, b"altered on its way"))
            data[self.chance.randrange(len(data))] ^= 1 << self.chance.randrange(8)
            self.torn(bytes(data))
        else:
            self.torn(self.wire.record(ALERT, b"\1\0"))  # close_notify, and perhaps more behind it

    def shake_hands(self, certificate=None, alpn=None, version=TLS13):
        """Step by step, with something wrong in one of a few."""
        self.wire = RawTls(self.socket, version, alpn, certificate)
        self.socket.settimeout(3)
        wrong = self.chance.random() < 0.2
        while (flight := self.wire.step()) is not None:
            self.flight(flight, wrong) if flight else self.wire.hear()
        self.flight(self.wire.last_flight, wrong)
        return self.wire

    def flight(self, data, wrong):
        if wrong and data and self.chance.random() < 0.5:
            kind = self.chance.randrange(3)
            if kind == 0:
                data = self.chance.choice(PLAIN_GARBAGE) + data
            elif kind == 1:
                data = data + self.chance.choice(PLAIN_GARBAGE)
            else:
                data = data[:self.chance.randrange(len(data))]
        if data:
            self.torn(data)

    def listen(self, seconds):
        """Reads whatever comes for so long; None at the end."""
        got = b""
        with contextlib.suppress(TimeoutError, BlockingIOError, ValueError, IndexError, raw_tls.InvalidTag):
            if self.secure:
                self.wire.patience = seconds
            self.socket.settimeout(seconds)
            data = self.wire.recv(65536)
            if not data:
                raise Closed(b"")
            got += data
        self.socket.settimeout(3)
        return got

    def end(self):
        kind = self.chance.randrange(4)
        with contextlib.suppress(OSError):
            if kind == 0:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            elif kind == 1:
                self.socket.shutdown(socket.SHUT_WR)
                self.pause(0.2)
                self.socket.sendall(b"behind the end")
            elif kind == 2:
                self.socket.shutdown(socket.SHUT_RD)
                self.pause(0.05)
        (self.wire or self.socket).close()

    # HTTP/2

    def block(self, client):
        """A header block by hand (RFC 7541): static entries and literals, without the dynamic table."""
        literal = lambda index, value: bytes([index, len(value)]) + value  # noqa: E731
        if client:
            path = self.chance.choice((b"/", b"/http1", b"/h2", b"/auto", b"/cut", b"/plain", b"/nowhere"))
            return b"\x82\x86" + literal(1, b"localhost") + literal(4, path)
        return self.chance.choice((b"\x88", b"\x88", b"\x88", b"\x8d", literal(8, b"100"), literal(8, b"101"), literal(8, b"103"), literal(8, b"204"), literal(8, b"abc"),
                                   b"\x88" + literal(28, b"5"), b"\x88" + literal(28, b"0"), b"", b"\x82", b"\xff\xff\xff\xff\xff", b"\x40\x03x-a\x01b"))

    def h2_frame(self, client, known):
        stream = self.chance.choice((*known, *known, 0, 1, 2, 3, 99, 1 << 30, (1 << 31) - 1))
        kind = self.chance.randrange(14)
        flags = self.chance.choice((0, 1, 4, 5, 5, 5, 8, 13, 255))
        number = lambda value: struct.pack(">I", value)  # noqa: E731
        if kind < 3:
            return http2.frame(http2.DATA, self.chance.choice((0, 1, 8, 9)), stream, self.chance.choice((b"", b"hello", b"\3abc", bytes(3000))))
        if kind < 6:
            return http2.frame(http2.HEADERS, self.chance.choice((4, 5, 5, 0, 1)), stream, self.block(client))
        if kind == 6:
            return http2.frame(http2.RST_STREAM, 0, stream, number(self.chance.choice(CODES))[:self.chance.choice((4, 4, 4, 3))])
        if kind == 7:
            return http2.frame(http2.SETTINGS, self.chance.choice((0, 0, 0, 1)), self.chance.choice((0, 0, 0, stream)),
                               b"".join(struct.pack(">HI", *self.chance.choice(SETTINGS)) for _ in range(self.chance.randrange(4))))
        if kind == 8:
            return http2.frame(http2.PING, self.chance.choice((0, 1)), self.chance.choice((0, 0, stream)), bytes(self.chance.choice((8, 8, 7))))
        if kind == 9:
            return http2.frame(http2.GOAWAY, 0, self.chance.choice((0, 0, 0, stream)), number(self.chance.choice((0, 1, 3, 2, (1 << 31) - 1))) + number(self.chance.choice(CODES)))
        if kind == 10:
            return http2.frame(http2.WINDOW_UPDATE, 0, stream, number(self.chance.choice((0, 1, 65535, (1 << 31) - 1))))
        if kind == 11:
            return http2.frame(http2.CONTINUATION, flags, stream, self.block(client))
        if kind == 12:
            return http2.frame(http2.PUSH_PROMISE, 4, stream, number(2) + b"\x82\x86\x84")
        return http2.frame(self.chance.choice((http2.PRIORITY, 10, 12, 200)), flags, stream, self.chance.randbytes(self.chance.randrange(9)))


class HostileClient(Hostile):
    def run(self, secure):
        version = self.chance.choice((TLS13, TLS13, TLS12))
        alpn = self.chance.choice(("h2", "http/1.1", ["h2", "http/1.1"], None))
        if secure:
            self.shake_hands(alpn=alpn, version=version)
            h2 = self.wire.tls.selected_alpn_protocol() == "h2"
        else:
            self.wire, h2 = Plain(self.socket), self.chance.random() < 0.5
        if h2 and self.chance.random() < 0.95:
            self.say(http2.PREFACE + http2.frame(http2.SETTINGS))
        next_stream = 1
        for _ in range(self.chance.randrange(1, 9)):
            kind = self.chance.randrange(10)
            if kind < 3 and h2:
                flags = self.chance.choice((4, 5, 5))
                self.say(http2.frame(http2.HEADERS, flags, next_stream, self.block(True)))
                next_stream += 2
            elif kind < 3:
                self.say(self.request())
            elif kind < 5:
                self.listen(self.chance.choice((0.001, 0.02, 0.3)))
            elif kind < 7 and h2:
                self.say(self.h2_frame(True, range(1, next_stream, 2)))
            elif secure:
                self.disturb_tls()
            else:
                self.say(self.chance.randbytes(self.chance.randrange(1, 40)))

    def request(self):
        target = self.chance.choice(("/", "/http1", "/h2", "/auto", "/cut", "/plain", "/h2c", "/nowhere")).encode()
        head = b" " + target + b" HTTP/1.1\r\nHost: localhost\r\n"
        return self.chance.choice((
            b"GET" + head + b"\r\n", b"GET" + head + b"\r\nGET" + head + b"\r\n", b"GET" + head, b"POST" + head + b"Content-Length: 5\r\n\r\nhello",
            b"POST" + head + b"Content-Length: 5\r\n\r\nhe", b"POST" + head + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            b"POST" + head + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhel", b"POST" + head + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
            b"GET" + head + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            b"GET" + head + b"Connection: close\r\n\r\n", b"POST" + head + b"Content-Length: 200000\r\n\r\n" + bytes(100000), b"\r\n\r\n"))


class HostileEndpoint(Hostile):
    def run(self, certificate, speaks):
        """`speaks`: what it should speak."""
        h2 = speaks in ("h2", "h2c") or (speaks == "auto" and self.chance.random() < 0.6)
        if self.chance.random() < 0.05:
            return
        if certificate:
            if self.chance.random() < 0.15:
                time.sleep(0.3)  # by then the exchange has moved on
            wanted = "h2" if h2 else "http/1.1"
            agreed = self.chance.choice((wanted, wanted, wanted, wanted, "http/1.1", "h2", None))
            self.shake_hands(certificate, agreed, self.chance.choice((TLS13, TLS13, TLS12)))
            h2 = self.wire.tls.selected_alpn_protocol() == "h2" if self.chance.random() < 0.95 else not h2
        else:
            self.wire = Plain(self.socket)
        if self.secure and self.chance.random() < 0.3:
            self.disturb_tls()
        self.serve_h2() if h2 else self.serve_h1()

    def serve_h2(self):
        if self.chance.random() < 0.85:
            self.say(http2.frame(http2.SETTINGS, 0, 0, b"".join(struct.pack(">HI", *self.chance.choice(SETTINGS)) for _ in range(self.chance.choice((0, 0, 0, 1))))))
        if self.chance.random() < 0.2:
            return
        for _ in range(self.chance.randrange(1, 12)):
            kind = self.chance.randrange(10)
            if kind < 3:
                self.listen(self.chance.choice((0.001, 0.05, 0.5)))
            elif kind < 5:
                self.say(http2.frame(http2.HEADERS, self.chance.choice((4, 5)), self.chance.choice((1, 3, 5)), b"\x88"))
            elif kind < 9 or not self.secure:
                self.say(self.h2_frame(False, (1, 3)))
            else:
                self.disturb_tls()

    def serve_h1(self):
        for _ in range(self.chance.randrange(1, 7)):
            kind = self.chance.randrange(8)
            if kind < 3:
                self.listen(self.chance.choice((0.001, 0.05, 0.5)))
            elif kind < 7 or not self.secure:
                self.say(self.chance.choice((
                    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", b"HTTP/1.1 200 OK\r\n\r\nuntil the end",
                    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n",
                    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n\x81\x02hi",
                    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
                    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz", b"HTTP/1.1 204 No Content\r\n\r\n", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
                    b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n" + bytes(150000), b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n", b"HTTP/1.1 2", b"\x16\x03\x01", b"\0",
                    http2.frame(http2.SETTINGS))))
            else:
                self.disturb_tls()


QUIET = (OSError, Closed, raw_tls.InvalidTag, IndexError, ValueError, struct.error)  # the other side had enough, or said what we cannot read


def endpoint(seed, certificate, speaks):
    """`serve` of awkward.Backend."""
    numbers = iter(range(1 << 62))

    def serve(stream, _):
        one = HostileEndpoint(stream.socket, random.Random(f"{seed}-{speaks}-{next(numbers)}"))
        try:
            with contextlib.suppress(*QUIET):
                one.run(certificate, speaks)
        finally:
            one.end()

    return serve


def clients(seed, ports, seconds, threads=6):
    """Runs them for so long; how many connections there were."""
    deadline, done = time.monotonic() + seconds, []

    def run(thread):
        count = 0
        while time.monotonic() < deadline:
            chance = random.Random(f"{seed}-client-{thread}-{count}")
            count += 1
            secure = chance.random() < 0.7
            try:
                connection = socket.create_connection(("127.0.0.1", ports[secure]), timeout=3)
            except OSError:
                continue
            one = HostileClient(connection, chance)
            try:
                with contextlib.suppress(*QUIET):
                    one.run(secure)
            finally:
                one.end()
        done.append(count)

    workers = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(done)


# Without chance


class Attack(typing.NamedTuple):
    name: str
    records: tuple  # (kind, content), or NEW_KEY
    cut: object = None  # None: a record is one segment. A number: all of them are two, cut there. EACH: a segment for each byte.
    lawful: bool = False  # the connection must live on
    gone: bool = False  # nothing follows but the end

    def pieces(self, tls):
        """What goes out, each in a segment of its own."""
        sealed = []
        for kind, content in self.records:
            if kind is not None:
                sealed.append(tls.record(kind, content))
            elif isinstance(tls.out, raw_tls.Keys13):
                tls.out.update()
        if self.cut is None:
            return sealed
        data = b"".join(sealed)
        return [bytes([byte]) for byte in data] if self.cut == EACH else [data[:self.cut], data[self.cut:]]


NEW_KEY, EACH = (None, b""), "each"
OVERHEAD = {TLS13: 5 + 1 + 16, TLS12: 5 + 8 + 16}  # of a record with AES-GCM or ChaCha20-Poly1305
KEY_UPDATES = ("key_update", "key_update_wanted")
TORN_ALERTS = (0, 10, 40, 90, 100, 255)  # close_notify, ..., user_canceled, no_renegotiation, ...
EARLY = ["with the hello", "before the Finished", "with the Finished"]
THOROUGH = "EBB_HOSTILE_SECONDS" in os.environ  # a long run: all records are cut on the wire, at each moment
LONG = 64  # of records that are this long, only the ends are cut at each byte


def cuts(size):
    """Where to cut so many bytes on their way."""
    return [at for at in range(size + 1) if at < LONG // 2 or at > size - LONG // 4 or at % 7 == 0]


def attacks(version, messages=MESSAGES, lawful=KEY_UPDATES, everything=False):
    """Each message and alert: torn at each byte over two records, halved and left, twice, a byte at a time. Some records (with
    `everything`, all) cut at each byte on the wire. `lawful`: messages that a peer of TLS 1.3 may send."""
    for name, whole in messages.items():
        good = version == TLS13 and name in lawful
        after = (NEW_KEY,) if name in KEY_UPDATES else ()
        for at in range(len(whole) + 1):
            # An empty fragment is not allowed (RFC 8446 5.1).
            yield Attack(f"{name} torn at {at}", ((HANDSHAKE, whole[:at]), (HANDSHAKE, whole[at:]), *after), lawful=good and 0 < at < len(whole))
        for at in range(1, len(whole)) if name in KEY_UPDATES else (4,):
            yield Attack(f"{name} to {at}, then data", ((HANDSHAKE, whole[:at]), (APPLICATION_DATA, b"x")))
            yield Attack(f"{name} to {at}, then close_notify", ((HANDSHAKE, whole[:at]), (ALERT, b"\1\0")))
            yield Attack(f"{name} to {at}, then the end", ((HANDSHAKE, whole[:at]),), gone=True)
        yield Attack(f"{name} twice", ((HANDSHAKE, whole), *after) * 2, lawful=good)
        yield Attack(f"{name} twice in one record", ((HANDSHAKE, whole * 2), *after), lawful=good and not after)
        if everything or good:
            yield Attack(f"{name} byte by byte", ((HANDSHAKE, whole), *after), EACH, lawful=good)
            for at in cuts(len(whole) + OVERHEAD[version]):
                yield Attack(f"{name} cut at {at}", ((HANDSHAKE, whole), *after), at, lawful=good)
    for level, number in itertools.product((WARNING, FATAL), ALERTS):
        name, whole = f"alert {level} {number}", bytes([level, number])
        yield Attack(name, ((ALERT, whole),))
        for at in range(3) if number in TORN_ALERTS else (1,):
            yield Attack(f"{name} torn at {at}", ((ALERT, whole[:at]), (ALERT, whole[at:])))
        if number in TORN_ALERTS:
            yield Attack(f"{name} twice", ((ALERT, whole),) * 2)
            yield Attack(f"{name} twice in one record", ((ALERT, whole * 2),))
            yield Attack(f"half of {name}, then the end", ((ALERT, whole[:1]),), gone=True)
        if (level, number) in ((WARNING, 0), (FATAL, 40)) or (everything and number in TORN_ALERTS):
            yield Attack(f"{name} byte by byte", ((ALERT, whole),), EACH)
            for at in cuts(2 + OVERHEAD[version]):
                yield Attack(f"{name} cut at {at}", ((ALERT, whole),), at)
    for kind in (CHANGE_CIPHER_SPEC, HEARTBEAT, 0, 77):
        yield Attack(f"a record of kind {kind}", ((kind, b"\1"),))
    yield Attack("an empty record", ((APPLICATION_DATA, b""),), lawful=True)


class Neighbour:
    """Asks on one connection, time and again. Of a router with one worker: whoever sent something before has been read then."""

    def __init__(self, one, stream, asked=request(), good=b"good"):
        self.one, self.stream, self.asked, self.good, self.lock = one, stream, asked, good, threading.Lock()

    def is_served(self, what):
        with self.lock:
            try:
                self.stream.send(self.asked)
                head = self.stream.read_until(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 200 OK\r\n"), f"{what}: {head}"
                self.stream.read_until(self.good)
            except (OSError, Closed) as error:
                raise AssertionError(f"{what}: {error!r}, exit status {self.one.process.poll()}: {self.one.error_text()[-2000:]}") from error


def prompt_service(stream, known):
    """`serve` of one that answers the neighbour with little ado."""
    while stream.read_until(b"\r\n\r\n"):
        stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood")


def client_hello(version):
    """A real one, as who renegotiates sends it."""
    with RawTls(socket.socket(), version) as tls:
        return tls.step()[5:]


class Speech1:
    """What one says in HTTP/1.1, to ask or to answer."""

    hello, greeting = b"", b""  # of a client, of an endpoint
    last = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\ngood"

    def ask(self, target="/", **fields):
        return request(target=target, **fields)

    def hear(self, tls):
        """Waits for a request."""
        tls.read_until(b"\r\n\r\n")

    def halves(self):
        """Of an answer to it."""
        return b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngo", b"od"


class Speech2:
    """The same in HTTP/2, with header blocks by hand (RFC 7541): static entries and literals."""

    hello, greeting = http2.PREFACE + http2.frame(http2.SETTINGS), http2.frame(http2.SETTINGS)

    def __init__(self):
        self.stream, self.heard = -1, b""

    def ask(self, target="/"):
        self.stream += 2
        literal = lambda index, value: bytes([index, len(value)]) + value  # noqa: E731
        return http2.frame(http2.HEADERS, http2.END_STREAM | http2.END_HEADERS, self.stream,
                           b"\x82\x87" + literal(1, b"localhost") + literal(4, target.encode()))

    def read(self, tls, size):
        while len(self.heard) < size:
            if not (got := tls.recv(65536)):
                raise Closed(self.heard)
            self.heard += got
        data, self.heard = self.heard[:size], self.heard[size:]
        return data

    def hear(self, tls):
        if self.stream < 0:
            self.read(tls, len(http2.PREFACE))
        kind = None
        while kind != http2.HEADERS:
            head = self.read(tls, 9)
            kind, self.stream = head[3], int.from_bytes(head[5:], "big")
            self.read(tls, int.from_bytes(head[:3], "big"))

    def halves(self):
        stream = max(self.stream, 1)  # also if nobody has asked
        return (http2.frame(http2.HEADERS, http2.END_HEADERS, stream, b"\x88") + http2.frame(http2.DATA, 0, stream, b"go"),
                http2.frame(http2.DATA, http2.END_STREAM, stream, b"od"))

    @property
    def last(self):
        return b"".join(self.halves()) + http2.frame(http2.GOAWAY, 0, 0, struct.pack(">II", self.stream, 0))


SPEECH = {"http/1.1": Speech1, "h2": Speech2}
